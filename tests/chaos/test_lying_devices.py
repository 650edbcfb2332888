"""Invariant: whatever answers at the socket, `emuzero status` ends with one line that says why."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from firmware.abi.control import GetStatistics, Subject
from firmware.abi.registers import DeviceStatus, Phase
from firmware.abi.replies import Done, Statistics
from firmware.abi.statistics import (
    ClientStatistics,
    DeviceStatistics,
    QueueStatistics,
    SpaceStatistics,
)
from firmware.abi.status import Status
from hostdriver.cli import observer
from hostdriver.cli.exits import CommandError, Exit
from hostdriver.cli.observer import Observer
from tests.harness.lying_device import lying_device

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from firmware.abi.control import ControlCommand

SIZES = {
    Subject.DEVICE: DeviceStatistics.SIZE,
    Subject.CLIENT: ClientStatistics.SIZE,
    Subject.SPACE: SpaceStatistics.SIZE,
    Subject.QUEUE: QueueStatistics.SIZE,
}
U32 = (1 << 32) - 1
PATIENCE_SECONDS = 0.2


def device(**known: int) -> bytes:
    values: dict[str, int | bytes] = {field.name: 0 for field in DeviceStatistics.FIELDS}
    values["name"] = b"liar".ljust(64, b"\0")
    values["status"] = DeviceStatus.build(phase=Phase.RUNNING)
    return DeviceStatistics(**{**values, **known}).pack()  # type: ignore[arg-type]


def statistics(command: ControlCommand, count: int, total: int, size: int = 0) -> bytes:
    assert isinstance(command, GetStatistics)
    return Statistics(
        opcode=command.OPCODE,
        status=Status.OK,
        request=command.request,
        count=count,
        total=total,
        record_size=size or SIZES[command.subject],
    ).pack()


def says(record: bytes) -> Callable[[ControlCommand, memoryview], bytes]:
    """Answer with one device, and nothing else."""

    def answer(command: ControlCommand, payload: memoryview) -> bytes:
        assert isinstance(command, GetStatistics)
        count = int(command.subject is Subject.DEVICE)
        payload[: len(record)] = record
        return statistics(command, count, count)

    return answer


LIES: dict[str, tuple[Callable[[ControlCommand, memoryview], bytes | None], str]] = {
    "no memory": (says(device(vram_size=0)), "1 devices, expected one with memory"),
    "no such phase": (says(device(vram_size=1)[:64] + b"\xff" * 4 + bytes(444)), "status"),
    "no device": (lambda command, _: statistics(command, 0, 0), "0 devices"),
    "always one more": (lambda command, _: statistics(command, 0, 1), "0 of 1 records"),
    "more than fit": (lambda command, _: statistics(command, U32, U32), "truncated"),
    "another size": (lambda command, _: statistics(command, 1, 1, 7), "record_size=7"),
    "another answer": (
        lambda command, _: Done(opcode=0, status=Status.OK, request=command.request).pack(),
        "DEVICE",
    ),
    "another request": (
        lambda command, _: Done(opcode=0, status=Status.OK, request=command.request ^ 1).pack(),
        "nobody made",
    ),
    "no reply at all": (lambda *_: os.urandom(2).ljust(64, b"\xff"), "reply ring"),
    "silence": (lambda *_: None, f"did not answer within {PATIENCE_SECONDS} s"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    monkeypatch.setattr(observer, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    path = tmp_path / "socket"
    answer, words = LIES[lie]

    with (
        lying_device(path, answer),
        pytest.raises(CommandError, match=words) as caught,
        Observer(path) as watching,
    ):
        watching.read()

    assert "\n" not in caught.value.message
    assert caught.value.exit_code in {Exit.FAILED, Exit.NO_EMULATOR}


def test_numbers_that_cannot_be_are_shown_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    enormous = device(vram_size=1, free_bytes=(1 << 64) - 1, uptime_ticks=(1 << 64) - 1)

    with lying_device(path, says(enormous)), Observer(path) as watching:
        (report,) = watching.read().devices

    assert report.device is not None
    assert report.device.free_bytes == (1 << 64) - 1
