"""Status for people: what stands on the screen, at any width, whatever clients call themselves."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from firmware.abi.registers import BootError, DeviceStatus, Phase
from firmware.abi.rings import RingState
from hostdriver.cli.observer import DeviceReport, Report
from hostdriver.cli.sizes import counted
from hostdriver.cli.status.screen import duration, screen_of
from tests.harness.statistics import (
    RUNNING,
    client_statistics,
    device_statistics,
    queue_statistics,
    space_statistics,
)

BUSY = DeviceReport(
    index=0,
    status=RUNNING,
    device=device_statistics(
        name=b"test device",
        free_bytes=768 << 20,
        table_bytes=40960,
        retired_bytes=4096,
        uptime_ticks=65_000_000_000,
        client_count=1,
        object_count=2000,
        tlb_hits=999,
        tlb_misses=1,
        faults=3,
        ecc_corrected=1,
    ),
    clients=(client_statistics(client_id=64, pid=4711, name=b"prog\x1bram", vram_bytes=1 << 20),),
    spaces=(space_statistics(client_id=64, vmid=5, root_address=0x4000, mapped_pages=512),),
    queues=(
        queue_statistics(
            queue_id=7, state=RingState.RUNNING, tail=1, head=0xFFFFFFFE, entry_count=64
        ),
        queue_statistics(queue_id=8, state=RingState.STOPPED, completed=12, faults=3),
    ),
)
BOOTING = DeviceReport(
    index=1,
    status=DeviceStatus.build(
        phase=Phase.BOOT, boot_error=BootError.NOT_ELF, client_lost=False, poison=False
    ),
)
REPORT = Report(socket="/run/s", pid=99, devices=(BUSY, BOOTING))


def shown(report: Report = REPORT, *, only: int | None = None, width: int = 100) -> str:
    file = io.StringIO()
    Console(file=file, width=width, highlight=False).print(screen_of(report, only=only))
    return file.getvalue()


@pytest.mark.parametrize(
    "words",
    [
        "Emulator at /run/s (process 99)",
        "Device 0: test device  RUNNING  up 1 min 5 s",
        "256 MiB of 1 GiB in use (25.0%), tables 40 KiB, retired 4 KiB",
        "1 client, 2,000 objects",
        "TLB hits 99.9%",
        "Faults 3 faults, 1 stopped queue, 1 corrected memory error",
        "4711  prog?ram",
        "0x4000   2 MiB",
        "running     3/64",
        "stopped",
        "Device 1  BOOT",
        "The firmware image was refused (NOT_ELF): The file does not begin as an ELF does.",
    ],
)
def test_everything_of_interest_is_on_the_screen(words: str) -> None:
    assert words in shown()


def test_the_memory_bar_is_as_full_as_the_memory() -> None:
    assert "[######..................]" in shown()


def test_memory_in_use_is_seen_however_little_it_is() -> None:
    little = DeviceReport(
        index=0, status=RUNNING, device=device_statistics(free_bytes=(1 << 30) - 4096)
    )

    assert "[#....." in shown(Report(socket="", pid=1, devices=(little,)))


def test_one_device_can_be_shown_alone() -> None:
    text = shown(only=1)

    assert "Device 1" in text
    assert "Device 0" not in text


def test_an_idle_device_has_no_empty_tables() -> None:
    idle = DeviceReport(index=0, status=RUNNING, device=device_statistics())

    text = shown(Report(socket="", pid=1, devices=(idle,)))

    assert "Faults none" in text
    assert "root table" not in text
    assert "program" not in text


@pytest.mark.parametrize("width", [20, 40, 60, 80])
def test_narrow_screens_lose_no_line_end(width: int) -> None:
    assert max(len(line) for line in shown(width=width).splitlines()) <= width


@pytest.mark.parametrize(
    ("ticks", "text"),
    [
        (0, "0 s"),
        (59_999_999_999, "59 s"),
        (60_000_000_000, "1 min 0 s"),
        (3_600_000_000_000, "1 h 0 min"),
        (90_061_000_000_000, "25 h 1 min"),
    ],
)
def test_device_time_is_said_as_people_say_it(ticks: int, text: str) -> None:
    assert duration(ticks) == text


def test_counts_agree_with_their_nouns() -> None:
    assert [counted(n, "client") for n in (0, 1, 2)] == ["0 clients", "1 client", "2 clients"]
