"""Links between real processes: round trips, sleep, and every kind of death."""

from __future__ import annotations

import os
import select
import signal
import socket
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from firmware.link.client import connect
from firmware.link.compiled import VARIABLE, compiled
from firmware.link.errors import LinkLost
from firmware.link.runtime_dir import listen_socket
from firmware.link.server import is_same_user
from firmware.link.waiting import has_two_processors
from tests.harness.children import child
from tests.harness.echo_device import EchoDevice
from tests.harness.link_conformance import descriptor_count
from tests.harness.link_pairs import PLAN, accept_client
from tests.harness.link_programs import NOBODY, EchoClient

if TYPE_CHECKING:
    from collections.abc import Generator

    from firmware.link.ends import DeviceEnd

PROGRAMS = "tests.harness.link_programs"
ROUNDS = 1_000
compiled_only = pytest.mark.skipif(compiled() is None, reason="nothing can be compiled here")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user too")


@pytest.fixture
def listener(tmp_path: Path) -> Generator[socket.socket]:
    with listen_socket(tmp_path / "emulator") as listening:
        yield listening


@pytest.fixture
def devices() -> Generator[ExitStack]:
    """Close the device's ends even when a test fails, so that one failure stays one."""
    with ExitStack() as ends:
        yield ends


def accept(listener: socket.socket, devices: ExitStack, *, spin_hint: int = 1) -> DeviceEnd:
    end = accept_client(listener, spin_hint=spin_hint)
    devices.callback(end.close)
    return end


def path_of(listener: socket.socket) -> str:
    name = listener.getsockname()
    assert isinstance(name, str)
    return name


@pytest.mark.parametrize(
    "kind", [pytest.param("compiled", marks=compiled_only), "plain"], ids=["compiled", "plain"]
)
@pytest.mark.parametrize(
    ("hint", "spin_seconds"), [(0, 0.0), (1, 50e-6)], ids=["asleep", "spinning"]
)
def test_no_round_trip_is_lost(
    listener: socket.socket,
    devices: ExitStack,
    monkeypatch: pytest.MonkeyPatch,
    hint: int,
    spin_seconds: float,
    kind: str,
) -> None:
    monkeypatch.setenv(VARIABLE, "1" if kind == "compiled" else "0")
    with child(PROGRAMS, "echo_client", path_of(listener), ROUNDS) as client:
        end = accept(listener, devices, spin_hint=hint)
        device = EchoDevice(end, spin_seconds=spin_seconds)

        lost = device.serve()

        used, *counts = client.hear().split()
        spins, sleeps, sleepers = map(int, counts)
        assert client.end() == 0
    assert lost
    assert device.commands.head == ROUNDS
    assert used == kind
    assert sleepers == 0
    if hint == 0:
        assert spins == 0
        assert sleeps > 0
        assert device.naps > 0
    else:
        assert spins > 0 or not has_two_processors()
    device.commands.check()
    device.replies.check()


def test_a_client_killed_in_its_sleep_is_noticed_at_once(
    listener: socket.socket, devices: ExitStack
) -> None:
    before = descriptor_count()
    with child(PROGRAMS, "silent_client", path_of(listener)) as client:
        device = EchoDevice(accept(listener, devices))
        assert client.hear() == "waiting"

        client.process.kill()

        assert device.serve().startswith(f"process {client.pid} ")
    devices.close()
    assert descriptor_count() == before


def test_a_client_is_dead_although_a_forked_helper_holds_its_socket(
    listener: socket.socket, devices: ExitStack
) -> None:
    with child(PROGRAMS, "client_with_helper", path_of(listener)) as client:
        device = EchoDevice(accept(listener, devices))
        helper = int(client.hear())

        client.process.kill()

        assert device.serve() == f"process {client.pid} has ended"
        os.kill(helper, 0)


def test_a_client_that_closes_the_link_and_lives_on_is_noticed(
    listener: socket.socket, devices: ExitStack
) -> None:
    with child(PROGRAMS, "client_that_closes", path_of(listener)) as client:
        device = EchoDevice(accept(listener, devices))
        client.say()

        assert device.serve() == f"process {client.pid} closed the connection"
        assert client.hear() == "closed"


def test_a_wait_ends_when_the_device_dies(tmp_path: Path) -> None:
    path = tmp_path / "emulator"
    with child(PROGRAMS, "mortal_device", path) as device:
        assert device.hear() == "listening"
        client = EchoClient(connect(path, "survivor"))
        client.send(bytes(64))

        with pytest.raises(LinkLost, match=f"process {device.pid} "):
            client.receive()

        assert device.end() == -signal.SIGKILL
    client.end.close()


def test_death_can_be_slept_on(listener: socket.socket, devices: ExitStack) -> None:
    with child(PROGRAMS, "silent_client", path_of(listener)) as client:
        end = accept(listener, devices)
        poll = select.poll()
        for number in end.peer.filenos():
            poll.register(number, select.POLLIN)
        assert poll.poll(0) == []

        client.process.kill()

        assert poll.poll()
        with pytest.raises(LinkLost):
            end.peer.check()


@as_root
def test_another_user_is_told_apart() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        path = Path(folder) / "emulator"
        with listen_socket(path) as listening:
            path.chmod(0o666)
            with child(PROGRAMS, "stranger", path) as stranger:
                connection, _ = listening.accept()

                assert not is_same_user(connection)

                assert stranger.hear() == str(os.geteuid())
                connection.close()


def test_the_own_user_is_known(listener: socket.socket) -> None:
    with child(PROGRAMS, "silent_client", path_of(listener)):
        connection, _ = listener.accept()

        assert is_same_user(connection)

        connection.close()


@as_root
def test_a_client_refuses_the_emulator_of_another_user() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, child(PROGRAMS, "suspicious", theirs.fileno(), pass_fds=[theirs.fileno()]) as client:
        theirs.close()

        assert client.hear() == (
            f"the emulator belongs to user {os.geteuid()}, this process to user {NOBODY}"
        )


def test_a_segment_outlives_neither_end_nor_hurts_the_other(
    listener: socket.socket, devices: ExitStack
) -> None:
    with child(PROGRAMS, "silent_client", path_of(listener)) as client:
        end = accept(listener, devices)
        client.hear()
        client.kill()

        end.segment.words.store64(PLAN.fences_offset, 1)

        assert end.segment.words.load64(PLAN.fences_offset) == 1
