"""Connections that fail, close, or come late, and clients without a segment: a whole emulator."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from device.core.spec import DeviceSpec
from device.shell.emulator import Emulator, EmulatorConfig
from device.shell.taps import LOOK_SECONDS, shell_taps
from firmware.abi.handshake import HandshakeStatus, Purpose
from firmware.inject import Board, Injector, parse_rule
from firmware.link.descriptors import send_packet
from firmware.link.errors import LinkError, Refused
from firmware.link.handshake import say_hello
from firmware.link.runtime_dir import connect_socket
from tests.harness.process_client import RawClient

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

SPEC = DeviceSpec(vram_size=64 << 20)


class Rules:
    """The rules of one emulator's server."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self.injector = Injector(trio.current_time)
        self.board = Board(self.injector, shell_taps(emulator.server, self.injector))

    def add(self, line: str) -> str:
        name = self.injector.add(parse_rule(line))
        self.board.update()
        return name

    def remove(self, name: str) -> None:
        self.injector.remove(name)
        self.board.update()


@asynccontextmanager
async def running(folder: Path) -> AsyncGenerator[Rules]:
    """Run an emulator in this thread."""
    emulator = Emulator(EmulatorConfig(socket_path=folder / "socket", specs=(SPEC,)))
    try:
        async with trio.open_nursery() as nursery:
            ready = trio.Event()
            nursery.start_soon(lambda: emulator.run(ready=ready.set))
            await ready.wait()
            yield Rules(emulator)
            nursery.cancel_scope.cancel()
    finally:
        emulator.close()


def run(folder: Path, scenario: Callable[[Rules], Awaitable[None]]) -> None:
    async def main() -> None:
        with trio.fail_after(60):
            async with running(folder) as rules:
                await scenario(rules)

    trio.run(main)


def descriptor_count() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def client(rules: Rules) -> RawClient:
    return await trio.to_thread.run_sync(RawClient, rules.emulator.socket_path)


async def works(rules: Rules) -> bool:
    """Whether a client can connect, and make and use something."""
    made = await client(rules)
    found = await trio.to_thread.run_sync(made.space)
    made.close()
    return found > 0


async def idle(rules: Rules) -> int:
    """Return the descriptors once nobody is attached."""
    await rules.emulator.pump.when_empty()
    await trio.testing.wait_all_tasks_blocked()
    return descriptor_count()


@pytest.mark.parametrize("error", ["EMFILE", "ECONNABORTED", "EPERM", "ENETDOWN"])
def test_a_connection_that_cannot_be_taken_waits_and_is_taken_afterwards(
    tmp_path: Path, error: str
) -> None:
    async def scenario(rules: Rules) -> None:
        assert await works(rules)
        before = await idle(rules)
        rules.add(f"os.device.accept errno={error} times=2")
        assert await works(rules)
        assert [hit.point for hit in rules.injector.hits()] == ["os.device.accept"] * 2
        assert await idle(rules) == before
        assert rules.emulator.server.statistics().attached == 2

    run(tmp_path, scenario)


def test_a_connection_that_closes_at_once_is_told_as_one_and_the_next_one_is_served(
    tmp_path: Path,
) -> None:
    async def scenario(rules: Rules) -> None:
        assert await works(rules)
        before = await idle(rules)
        rules.add("os.device.accept close times=1")
        with pytest.raises(LinkError):
            await client(rules)
        assert await works(rules)
        assert await idle(rules) == before

    run(tmp_path, scenario)


def test_a_slow_connection_keeps_no_other_waiting_and_is_served_in_the_end(tmp_path: Path) -> None:
    async def scenario(rules: Rules) -> None:
        slow: list[RawClient] = []
        waits = trio.Event()
        rules.injector.on_hit = lambda _: waits.set()

        async def connect() -> None:
            slow.append(await client(rules))

        async with trio.open_nursery() as nursery:
            rules.add("os.device.accept delay=3600 nth=1 name=slow")
            # Another rule keeps the tap in when the first one goes.
            rules.add("os.device.accept close nth=1000")
            nursery.start_soon(connect)
            await waits.wait()
            assert await works(rules)
            assert not slow
            rules.remove("slow")
        assert await trio.to_thread.run_sync(slow[0].space)
        slow[0].close()

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    "rule", ["os.device.accept close", "os.device.accept errno", "os.device.memory_file errno"]
)
def test_who_looks_at_the_emulator_is_not_hit(tmp_path: Path, rule: str) -> None:
    async def scenario(rules: Rules) -> None:
        rules.add(rule)
        path = rules.emulator.socket_path
        observer = await trio.to_thread.run_sync(lambda: RawClient(path, purpose=Purpose.OBSERVE))
        observer.close()
        assert rules.injector.rules()[0].seen == 0

    run(tmp_path, scenario)


def test_a_connection_that_is_given_up_while_it_is_held_is_let_go(tmp_path: Path) -> None:
    async def scenario(rules: Rules) -> None:
        assert await works(rules)
        before = await idle(rules)
        waits = trio.Event()
        rules.injector.on_hit = lambda _: waits.set()
        rules.add("os.device.accept delay=3600")
        with connect_socket(rules.emulator.socket_path) as connection:
            send_packet(connection, say_hello("hasty").pack())
            await waits.wait()
        # Whoever is held looks again and again; at rest there is nobody.
        await trio.testing.wait_all_tasks_blocked(3 * LOOK_SECONDS)
        assert descriptor_count() == before

    run(tmp_path, scenario)


def test_a_client_without_a_segment_is_told_that_the_emulator_is_full(tmp_path: Path) -> None:
    async def scenario(rules: Rules) -> None:
        assert await works(rules)
        before = await idle(rules)
        rule = rules.add("os.device.memory_file errno=ENOMEM")
        with pytest.raises(Refused) as refused:
            await client(rules)
        assert refused.value.status is HandshakeStatus.FULL
        assert rules.injector.hits()[0].site.size > 0
        rules.remove(rule)
        assert await works(rules)
        assert await idle(rules) == before
        assert rules.emulator.devices[0].statistics().client_count == 0

    run(tmp_path, scenario)
