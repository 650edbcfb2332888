"""What exporter and importer have in common: one attached process that tells its parent events."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, NoReturn

from firmware.abi.control import Query, TranslationExtent
from firmware.abi.describe import flags_text
from firmware.abi.ids import PAGE_SIZE, Rights
from firmware.abi.paging import CONTIGUOUS_ENTRIES, LEVELS, Aperture, Pte
from firmware.abi.replies import Queried
from hostdriver.cli.demo.content import BadContent
from hostdriver.cli.demo.events import Attached, Extent, Tables, encode
from hostdriver.core.questions import Control
from hostdriver.core.results import ZeError
from hostdriver.core.vaspace import align_up
from hostdriver.levelzero import Driver
from hostdriver.runtime.attach import attach
from hostdriver.runtime.process import Process

if TYPE_CHECKING:
    from collections.abc import Callable

    from hostdriver.cli.demo.events import Event
    from hostdriver.cli.demo.trace import Trace
    from hostdriver.core.questions import Answer
    from hostdriver.core.state import DriverState
    from hostdriver.runtime.runner import Runner

CHUNK: Final = 8 << 20
"""Bytes that are held in memory at a time, whatever the files' sizes."""
MOST_EXTENTS: Final = 64
"""Extents of a page table that are told."""


class DemoError(Exception):
    """The demonstration cannot go on; the text says why."""


def tell(event: Event) -> None:
    """Tell the parent."""
    sys.stdout.buffer.write(encode(event))
    sys.stdout.buffer.flush()


def play(part: Callable[[str], None]) -> NoReturn:
    """Run one part of the demo as a process; its one argument is the emulator's socket."""
    _, socket = sys.argv
    try:
        part(socket)
    except (ZeError, BadContent, DemoError, OSError) as error:
        print(error, file=sys.stderr)  # noqa: T201 - the parent shows it
        sys.exit(1)
    sys.exit(0)


def connect(socket: str, name: str, trace: Trace) -> Driver:
    """Attach to the emulator at `socket`, and to no other, under the eyes of `trace`.

    Raises:
        ZeError: there is none, or it refuses.
    """

    def watched() -> Runner:
        runner = attach(socket, name=name)
        runner.observer = trace.observe
        return runner

    with trace.call("zeInit"):
        driver = Driver(Process(watched))
    device = driver.devices[0]
    memory = device.get_memory_properties()[0]
    tell(Attached(os.getpid(), device.get_properties().name, memory.total_size))
    return driver


def walk_tables(driver: Driver, va: int, size: int) -> Tables:
    """Have the device walk this process's page table over the pages of a range.

    Raises:
        DemoError: the device refuses, or part of the range is not mapped.
    """
    first = va & -PAGE_SIZE
    pages = align_up(va + size, PAGE_SIZE) - first
    answer = driver.run(lambda state: _query(state, first, pages))
    reply = answer.reply
    if not isinstance(reply, Queried):
        raise DemoError(f"the device answered {reply} to QUERY")
    extents: list[Extent] = []
    for number in range(reply.count):
        found = TranslationExtent.unpack(answer.payload, number * TranslationExtent.SIZE)
        if not isinstance(found, TranslationExtent):
            raise DemoError(f"extent {number} of the page table is {found}")
        extents.append(_extent(found))
    if not extents:
        raise DemoError(f"nothing is mapped at {first:#x}")
    return Tables(extents, reply.total)


async def _query(state: DriverState, va: int, size: int) -> Answer:
    command = Query(
        request=0,
        vmid=state.devices[0].vmid,
        payload_offset=0,
        va=va,
        size_bytes=size,
        capacity=MOST_EXTENTS,
    )
    return await Control(0, command, room=MOST_EXTENTS * TranslationExtent.SIZE)


def _extent(found: TranslationExtent) -> Extent:
    names = {int(aperture): aperture.name for aperture in Aperture}
    return Extent(
        va=found.va,
        size=found.size_bytes,
        aperture=names.get(found.aperture, "NULL"),
        address=found.address,
        level=found.level,
        page_size=_page_size(found),
        rights=flags_text(Rights, found.rights),
    )


def _page_size(found: TranslationExtent) -> int:
    """Return the size of the page that the extent's first entry maps or helps to map."""
    size = 1 << LEVELS[found.level].shift
    return size * CONTIGUOUS_ENTRIES if Pte(found.entry).contiguous else size
