"""What an emulator holds at one moment: objects of its devices, descriptors, mapped memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hostdriver.cli.exits import CommandError
from hostdriver.cli.observer import Observer
from hostdriver.cli.sweep.outcome import Left

if TYPE_CHECKING:
    from firmware.abi.statistics import DeviceStatistics

SETTLE_SECONDS: Final = 5.0
"""How long an emulator may take to give back what a program had."""
LOOK_SECONDS: Final = 0.02
"""Between two looks meanwhile."""


def read_vitals(socket: Path) -> Left:
    """Return what the emulator at a socket holds.

    Raises:
        CommandError: it cannot be asked, or one of its devices does not run.
    """
    counts: dict[str, int] = {}
    with Observer(socket, "emuzero sweep") as observer:
        report = observer.read()
        for device in report.devices:
            if device.device is None:
                raise CommandError(f"device {device.index} does not run: {device.status!r}")
            for kind, count in _held(device.device).items():
                counts[kind] = counts.get(kind, 0) + count
        counts["descriptors of the emulator"] = len(list(Path(f"/proc/{report.pid}/fd").iterdir()))
        counts["memory files mapped by the emulator"] = _mapped_files(report.pid)
    return Left(counts)


def settled_vitals(socket: Path, before: Left) -> Left:
    """Return what an emulator holds, as soon as that is no more than before, or time is up.

    Raises:
        CommandError: it cannot be asked, or one of its devices does not run.
    """
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        found = read_vitals(socket)
        if not found.beyond(before) or time.monotonic() > deadline:
            return found
        time.sleep(LOOK_SECONDS)


def difference(after: Left, before: Left) -> Left:
    """Return what is there after in excess of before."""
    return Left(
        {
            kind: count - before.counts.get(kind, 0)
            for kind, count in after.counts.items()
            if count > before.counts.get(kind, 0)
        }
    )


def _held(device: DeviceStatistics) -> dict[str, int]:
    in_use = device.vram_size - device.free_bytes - device.retired_bytes
    return {
        "clients": device.client_count,
        "memory objects": device.object_count,
        "address spaces": device.space_count,
        "work queues": device.queue_count,
        "exports": device.export_count,
        "imports": device.import_count,
        "mapped pages": device.mapped_pages,
        "bytes of device memory": in_use,
    }


def _mapped_files(pid: int) -> int:
    """Return how many mappings of memory files a process has."""
    lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    return sum("memfd:" in line for line in lines)
