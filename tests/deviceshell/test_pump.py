"""The pump: model time, turns, sleeping and waking; in one process, under trio's mock clock."""

from __future__ import annotations

import dataclasses
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio
import trio.testing

from device.core.spec import DeviceSpec, Latencies
from device.shell.emulator import Emulator, EmulatorConfig
from firmware.abi.control import Nop
from firmware.abi.rings import COMPLETED
from tests.harness.commands import copy, fill
from tests.harness.process_client import RawClient

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from tests.harness.process_client import RawQueue

SMALL = DeviceSpec(vram_size=64 << 20)
SECOND = 1_000_000_000
VA = 1 << 32


def ticks() -> int:
    return int(trio.current_time() * 1e9)


@asynccontextmanager
async def running(folder: Path, spec: DeviceSpec = SMALL) -> AsyncGenerator[Emulator]:
    """Run an emulator in this thread; time stands still."""
    config = EmulatorConfig(socket_path=folder / "socket", specs=(spec,))
    emulator = Emulator(config, clock=ticks)
    try:
        async with trio.open_nursery() as nursery:
            ready = trio.Event()
            nursery.start_soon(lambda: emulator.run(ready=ready.set))
            await ready.wait()
            yield emulator
            nursery.cancel_scope.cancel()
    finally:
        emulator.close()


async def blocking(call: Callable[[], object]) -> None:
    """Make a blocking call of a client while the emulator runs on."""
    await trio.to_thread.run_sync(call)


class Connected:
    """A client with a queue and mapped memory."""

    def __init__(self, path: Path) -> None:
        self.client = RawClient(path)
        vmid = self.client.space()
        self.client.map(vmid, VA, 8 << 20, self.client.vram(8 << 20))
        self.queue: RawQueue = self.client.queue(vmid)

    @property
    def completed(self) -> int:
        words = self.client.end.segment.words
        return words.load64(self.queue.created.ring_offset + COMPLETED)


async def connected(emulator: Emulator) -> Connected:
    made: list[Connected] = []
    path = emulator.socket_path
    await blocking(lambda: made.append(Connected(path)))
    return made[0]


def run_at_a_stroke(scenario: Callable[[trio.testing.MockClock], Awaitable[None]]) -> None:
    clock = trio.testing.MockClock(autojump_threshold=math.inf)
    trio.run(scenario, clock, clock=clock)


def test_commands_take_the_time_that_the_specification_says(tmp_path: Path) -> None:
    spec = dataclasses.replace(SMALL, latencies=Latencies(command_ticks=2 * SECOND))

    async def scenario(clock: trio.testing.MockClock) -> None:
        async with running(tmp_path, spec) as emulator:
            program = await connected(emulator)
            program.queue.submit(fill(VA, 64, 1), fill(VA, 64, 2))
            await emulator.pump.settled()
            assert program.completed == 0

            clock.jump(1.9)
            await emulator.pump.settled()
            assert program.completed == 0

            clock.jump(0.2)
            await emulator.pump.settled()
            assert program.completed == 1

            clock.jump(2)
            await emulator.pump.settled()
            assert program.completed == 2
            program.client.close()

    run_at_a_stroke(scenario)


def test_a_settled_pump_sleeps_until_it_is_rung(tmp_path: Path) -> None:
    async def scenario(_clock: trio.testing.MockClock) -> None:
        async with running(tmp_path) as emulator:
            program = await connected(emulator)
            await emulator.pump.settled()
            before = emulator.pump.statistics()
            for _ in range(50):
                await trio.lowlevel.checkpoint()
            assert emulator.pump.statistics() == before

            program.queue.submit(fill(VA, 64, 1))
            await emulator.pump.settled()
            assert program.completed == 1
            program.client.close()

    run_at_a_stroke(scenario)


def test_a_large_copy_runs_in_chunks_while_control_commands_are_answered(tmp_path: Path) -> None:
    spec = dataclasses.replace(SMALL, chunk_bytes=1 << 20)

    async def scenario(_clock: trio.testing.MockClock) -> None:
        async with running(tmp_path, spec) as emulator:
            program = await connected(emulator)
            program.queue.submit(copy(VA, VA + (4 << 20), 4 << 20))
            await blocking(lambda: program.client.call(Nop(request=1)))
            await blocking(program.queue.wait)
            assert program.completed == 1
            assert emulator.devices[0].statistics().bytes_written >= 4 << 20
            program.client.close()

    run_at_a_stroke(scenario)


def test_a_client_that_leaves_is_forgotten_with_all_it_had(tmp_path: Path) -> None:
    async def scenario(_clock: trio.testing.MockClock) -> None:
        async with running(tmp_path) as emulator:
            free = emulator.devices[0].statistics().free_bytes
            program = await connected(emulator)
            assert emulator.pump.client_count == 1
            assert emulator.devices[0].statistics().free_bytes < free

            program.client.close()
            await emulator.pump.settled()

            assert emulator.pump.client_count == 0
            assert emulator.devices[0].statistics().free_bytes == free
            emulator.devices[0].check()

    run_at_a_stroke(scenario)


def test_a_connection_that_never_says_hello_is_closed_after_its_time(tmp_path: Path) -> None:
    async def scenario(clock: trio.testing.MockClock) -> None:
        async with running(tmp_path) as emulator:
            silent = trio.socket.socket(trio.socket.AF_UNIX, trio.socket.SOCK_SEQPACKET)
            await silent.connect(str(emulator.socket_path))
            while not emulator.server.statistics().accepted:
                await trio.lowlevel.checkpoint()
            await trio.testing.wait_all_tasks_blocked()
            clock.jump(5.1)

            # The device's end is closed: there is nothing more to read.
            assert await silent.recv(64) == b""

            assert emulator.server.statistics().refused == 1
            silent.close()

    run_at_a_stroke(scenario)


def test_closing_with_clients_attached_gives_everything_back(tmp_path: Path) -> None:
    async def scenario(_clock: trio.testing.MockClock) -> None:
        async with running(tmp_path) as emulator:
            program = await connected(emulator)
            program.queue.submit(copy(VA, VA + (4 << 20), 4 << 20))
        device = emulator.devices[0]
        assert device.statistics().client_count == 0
        assert device.statistics().free_bytes == SMALL.vram_size
        assert not emulator.socket_path.exists()
        program.client.close()

    run_at_a_stroke(scenario)
