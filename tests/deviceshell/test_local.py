"""Drivers inside the emulator: which of them its devices attach, and what a refusal leaves."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from device.core.spec import DeviceSpec
from device.shell.emulator import Emulator, EmulatorConfig
from firmware.abi.handshake import HandshakeStatus
from firmware.link.errors import Refused
from firmware.link.handshake import say_hello

if TYPE_CHECKING:
    from collections.abc import Generator

SPEC = DeviceSpec(vram_size=64 << 20, max_clients=1)
HELLO = say_hello("program")


@contextmanager
def emulator_with(folder: Path, image: bytes | None = None) -> Generator[Emulator]:
    emulator = Emulator(EmulatorConfig(socket_path=folder / "socket", specs=(SPEC,), image=image))
    try:
        yield emulator
    finally:
        emulator.close()


def descriptor_count() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_device_that_does_not_run_refuses(tmp_path: Path) -> None:
    with emulator_with(tmp_path, image=b"no firmware") as emulator:
        before = descriptor_count()
        with pytest.raises(Refused) as refused:
            emulator.local.attach(0, HELLO, os.getpid())

        assert refused.value.status is HandshakeStatus.NOT_RUNNING
        assert descriptor_count() == before


def test_a_device_with_all_its_clients_refuses(tmp_path: Path) -> None:
    with emulator_with(tmp_path) as emulator:
        first = emulator.local.attach(0, HELLO, os.getpid())
        before = descriptor_count()
        with pytest.raises(Refused) as refused:
            emulator.local.attach(0, HELLO, os.getpid())

        assert (refused.value.status, refused.value.detail) == (HandshakeStatus.FULL, 1)
        assert descriptor_count() == before
        first.detach()
        first.end.close()
        os.close(first.segment_descriptor)
