"""A program that the emulator does not take is told why in words, and what helps."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from firmware.abi.handshake import HandshakeStatus, Hello, Welcome
from firmware.abi.ids import ABI_MAJOR, ABI_MINOR, Feature
from firmware.abi.registers import Phase
from firmware.link.runtime_dir import listen_socket
from tests.harness.emulator_process import emulator_process

Compile = Callable[[str], Path]
PATIENCE_SECONDS = 60
NO_IMAGE = b"\x7fELF" + bytes(200)


@contextmanager
def refusing(path: Path, status: HandshakeStatus, detail: int, major: int) -> Iterator[None]:
    """Listen at a path, and refuse whoever comes first."""
    listener = listen_socket(path)
    listener.settimeout(PATIENCE_SECONDS)
    welcome = Welcome(
        status=status,
        abi_major=major,
        abi_minor=ABI_MINOR,
        features=Feature(0),
        segment_size=0,
        client_id=0,
        device_count=1,
        detail=detail,
    )

    def refuse() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(Hello.SIZE)
            connection.send(welcome.pack())

    thread = threading.Thread(target=refuse)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        listener.close()


def told(program: Path, path: Path) -> str:
    """Return the line in which a program tells why it is not taken."""
    done = subprocess.run(
        [program],
        env={**os.environ, "EMUZERO_SOCKET": str(path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [line] = done.stdout.splitlines()
    return line


def test_a_device_that_refused_its_firmware_is_told_with_what_helps(
    compile_program: Compile, tmp_path: Path
) -> None:
    program = compile_program("refused")

    with emulator_process(tmp_path, image=NO_IMAGE) as emulator:
        line = told(program, emulator.path)

    assert line.startswith(
        f"the emulator at {emulator.path} takes no programs: a device is not running "
    )
    assert "it refused its firmware image (boot error 3;" in line
    assert "`emuzero status`" in line
    assert "without --firmware" in line
    assert "handshake" not in line


@pytest.mark.parametrize(
    ("status", "detail", "major", "words"),
    [
        (HandshakeStatus.NOT_RUNNING, Phase.RESET, ABI_MAJOR, "no firmware yet; try again"),
        (HandshakeStatus.NOT_RUNNING, Phase.DRAINING, ABI_MAJOR, "takes no new ones; try again"),
        (HandshakeStatus.NOT_RUNNING, Phase.HALTED, ABI_MAJOR, "halted .*; start it again"),
        (HandshakeStatus.VERSION, 0, 77, r"speaks ABI 77\..*: use the library of the emulator's"),
        (
            HandshakeStatus.FULL,
            9,
            ABI_MAJOR,
            r"descriptor or memory left .*\(detail 9\)",
        ),
        (HandshakeStatus.PERMISSION, 0, ABI_MAJOR, "another user; start one of your own"),
        (HandshakeStatus.NO_DEVICE, 4, ABI_MAJOR, "handshake status 3, detail 4"),
    ],
)
def test_every_refusal_is_told_with_what_helps(
    status: HandshakeStatus,
    detail: int,
    major: int,
    words: str,
    compile_program: Compile,
    tmp_path: Path,
) -> None:
    program, path = compile_program("refused"), tmp_path / "socket"

    with refusing(path, status, detail, major):
        line = told(program, path)

    assert line.startswith(f"the emulator at {path} ")
    assert re.search(words, line)
