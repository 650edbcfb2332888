"""The whole emulator in its own process: socket, admission, deaths, orderly end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from firmware.abi.control import Nop
from firmware.abi.handshake import HandshakeStatus, Hello, Purpose, Welcome
from firmware.abi.registers import DeviceStatus, Phase
from firmware.abi.replies import Done
from firmware.abi.status import Status
from firmware.link.descriptors import receive_packet, send_packet
from firmware.link.errors import AttachError, LinkLost, Refused
from firmware.link.handshake import say_hello
from firmware.link.runtime_dir import connect_socket, listen_socket
from tests.harness.children import child, hear, run_function, say
from tests.harness.emulator_process import emulator_process
from tests.harness.process_client import RawClient

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_the_socket_is_the_users_alone(tmp_path: Path) -> None:
    with emulator_process(tmp_path) as emulator:
        mode = emulator.path.stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


@pytest.mark.slow
def test_a_socket_left_by_a_dead_emulator_is_replaced(tmp_path: Path) -> None:
    with emulator_process(tmp_path) as first:
        first.process.kill()
        assert first.path.exists()
        with emulator_process(tmp_path) as second, contextlib.closing(RawClient(second.path)):
            assert second.audit().clients == 1


def test_a_socket_in_use_is_not_taken_over(tmp_path: Path) -> None:
    with (
        emulator_process(tmp_path) as first,
        pytest.raises(AttachError, match="in use"),
        listen_socket(first.path),
    ):
        pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order_and_its_clients_hear_of_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    with (
        emulator_process(tmp_path) as emulator,
        contextlib.closing(RawClient(emulator.path)) as client,
    ):
        client.space()
        os.kill(emulator.pid, number)
        assert emulator.process.process.wait(30) == 0
        assert not emulator.path.exists()
        with pytest.raises(LinkLost):
            client.call(Nop(request=client.number()))


def test_killing_the_emulator_ends_every_wait_of_a_client(tmp_path: Path) -> None:
    with (
        emulator_process(tmp_path) as emulator,
        contextlib.closing(RawClient(emulator.path)) as client,
    ):
        os.kill(emulator.pid, signal.SIGSTOP)
        client.send(Nop(request=1).pack())
        emulator.process.kill()
        with pytest.raises(LinkLost):
            client.receive()


@pytest.mark.slow
def test_devices_of_one_emulator_are_separate(tmp_path: Path) -> None:
    with (
        emulator_process(tmp_path, device_count=2) as emulator,
        contextlib.closing(RawClient(emulator.path, device=0)) as first,
        contextlib.closing(RawClient(emulator.path, device=1)) as second,
    ):
        free = second.end.segment.words.load64(second.end.superblock.registers_offset + 0x38)
        first.vram(1 << 20)
        assert second.call(Nop(request=7)) == Done(opcode=0, status=Status.OK, request=7)
        after = second.end.segment.words.load64(second.end.superblock.registers_offset + 0x38)

        assert free == after
        assert first.end.superblock.device_index == 0
        assert second.end.superblock.device_index == 1
        assert first.end.superblock.emulator_id == second.end.superblock.emulator_id


@pytest.mark.slow
def test_a_device_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with (
        emulator_process(tmp_path) as emulator,
        pytest.raises(Refused, match="there is no device 5") as caught,
    ):
        RawClient(emulator.path, device=5)
    assert caught.value.status is HandshakeStatus.NO_DEVICE


@pytest.mark.slow
def test_the_limit_of_clients_is_kept_and_a_place_becomes_free_again(tmp_path: Path) -> None:
    with emulator_process(tmp_path, spec="max_clients = 2") as emulator:
        clients = [RawClient(emulator.path) for _ in range(2)]
        with pytest.raises(Refused) as caught:
            RawClient(emulator.path)
        assert caught.value.status is HandshakeStatus.FULL
        assert caught.value.detail == 2
        # An observer takes no place.
        RawClient(emulator.path, purpose=Purpose.OBSERVE).close()

        clients.pop().close()
        emulator.audit()
        clients.append(RawClient(emulator.path))
        for client in clients:
            client.close()
        assert emulator.audit().clients == 0


@pytest.mark.slow
def test_another_major_version_is_refused_with_both_numbers(tmp_path: Path) -> None:
    hello = bytearray(say_hello("future").pack())
    hello[8:10] = (77).to_bytes(2, "little")
    with emulator_process(tmp_path) as emulator, connect_socket(emulator.path) as connection:
        send_packet(connection, bytes(hello))
        welcome = Welcome.unpack(receive_packet(connection, Welcome.SIZE).data)
    assert isinstance(welcome, Welcome)
    assert welcome.status is HandshakeStatus.VERSION
    assert welcome.abi_major == 1


@pytest.mark.slow
def test_a_dead_client_is_noticed_although_a_forked_helper_keeps_its_socket(
    tmp_path: Path,
) -> None:
    with emulator_process(tmp_path) as emulator:
        start = emulator.audit()
        with child(__name__, "program_with_a_helper", emulator.path) as program:
            helper = int(program.hear())
            assert emulator.audit().objects == 1

            program.kill()

            # The helper lives and holds the socket; the program's memory is back all the same.
            os.kill(helper, 0)
            assert emulator.audit() == start
            os.kill(helper, signal.SIGKILL)


def program_with_a_helper(path: str) -> None:
    from pathlib import Path  # noqa: PLC0415 - a child's function

    client = RawClient(Path(path))
    client.vram(1 << 20)
    helper = os.fork()
    if not helper:
        signal.pause()
    say(helper)
    hear()


@pytest.mark.slow
def test_a_client_that_execs_another_program_is_gone(tmp_path: Path) -> None:
    with emulator_process(tmp_path) as emulator:
        start = emulator.audit()
        with child(__name__, "program_that_execs", emulator.path) as program:
            assert program.hear() == "attached"
            program.say()
            assert program.hear() == "other program"
            assert emulator.audit() == start


def program_that_execs(path: str) -> None:
    from pathlib import Path  # noqa: PLC0415 - a child's function

    RawClient(Path(path)).vram(1 << 20)
    say("attached")
    hear()
    os.execv("/bin/sh", ["sh", "-c", "echo other program; read line"])  # noqa: S606


@pytest.mark.slow
def test_hundreds_of_attachments_leave_nothing(tmp_path: Path) -> None:
    with emulator_process(tmp_path) as emulator:
        start = emulator.audit()
        for _ in range(300):
            client = RawClient(emulator.path)
            client.space()
            client.close()
        assert emulator.audit() == start


@pytest.mark.slow
def test_a_hello_that_never_comes_keeps_nobody_from_attaching(tmp_path: Path) -> None:
    with emulator_process(tmp_path) as emulator, contextlib.ExitStack() as silent:
        for _ in range(20):
            silent.enter_context(connect_socket(emulator.path))
        with contextlib.closing(RawClient(emulator.path)) as client:
            assert client.call(Nop(request=1)).status == 0


@pytest.mark.slow
def test_a_client_gone_before_its_welcome_leaves_nothing(tmp_path: Path) -> None:
    with emulator_process(tmp_path) as emulator:
        start = emulator.audit()
        for _ in range(50):
            connection = connect_socket(emulator.path)
            send_packet(connection, say_hello("hasty").pack())
            connection.close()
        # Whoever comes after them in the queue is attached after them.
        RawClient(emulator.path).close()
        after = emulator.audit()
    assert after.clients == 0
    assert after.descriptors == start.descriptors
    assert after.mappings == start.mappings


@pytest.mark.slow
def test_a_device_without_firmware_refuses_with_its_status(tmp_path: Path) -> None:
    with (
        emulator_process(tmp_path, image=b"\x7fELF and nothing else") as emulator,
        pytest.raises(Refused, match="not running") as caught,
    ):
        RawClient(emulator.path)
    status = DeviceStatus(caught.value.detail)
    assert caught.value.status is HandshakeStatus.NOT_RUNNING
    assert status.phase is Phase.BOOT
    assert status.boot_error


def test_on_demand_it_ends_when_the_last_client_leaves(tmp_path: Path) -> None:
    with emulator_process(tmp_path, on_demand=True) as emulator:
        first, second = RawClient(emulator.path), RawClient(emulator.path)
        first.close()
        second.call(Nop(request=1))
        second.close()
        assert emulator.process.process.wait(30) == 0
        assert not emulator.path.exists()


@pytest.mark.slow
def test_a_packet_of_another_kind_of_socket_does_not_matter(tmp_path: Path) -> None:
    with emulator_process(tmp_path) as emulator:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream, pytest.raises(OSError):  # noqa: PT011 - the kernel's
            stream.connect(str(emulator.path))
        RawClient(emulator.path).close()
        assert Hello.SIZE == 128


if __name__ == "__main__":
    run_function(
        {
            "program_with_a_helper": program_with_a_helper,
            "program_that_execs": program_that_execs,
        }
    )
