"""Short ways to memory for tests of the Level Zero functions, and one to their errors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from hostdriver.api import exporting, mapping, physical_memory, virtual_memory
from hostdriver.api.structures import IpcPhysMemHandleRangeExtDesc, PhysicalMemDesc
from hostdriver.core.enums import MemoryAccessAttribute, PhysicalMemFlags
from hostdriver.core.results import ZeError, ZeResult

if TYPE_CHECKING:
    from collections.abc import Generator

    from hostdriver.api.context import Context
    from hostdriver.api.device import Device
    from hostdriver.core.physical import PhysicalObject
    from hostdriver.core.state import DriverState
    from tests.harness.fake_session import FakeSession

PAGE = 64 << 10
LARGE = 2 << 20
READWRITE = MemoryAccessAttribute.READWRITE
DEVICE = PhysicalMemFlags.ALLOCATE_ON_DEVICE
HOST = PhysicalMemFlags.ALLOCATE_ON_HOST


def reserve(session: FakeSession, state: DriverState, size: int, start: int | None = None) -> int:
    return session.run(virtual_memory.reserve(state, start, size))


def physical(
    session: FakeSession,
    state: DriverState,
    size: int,
    flags: PhysicalMemFlags = DEVICE,
    device: int = 0,
) -> PhysicalObject:
    return session.run(physical_memory.create(state, device, PhysicalMemDesc(size, flags)))


def map_at(
    session: FakeSession,
    state: DriverState,
    va: int,
    source: PhysicalObject,
    size: int = PAGE,
    offset: int = 0,
) -> None:
    session.run(mapping.map_memory(state, va, size, source, offset, READWRITE))


def mapped(session: FakeSession, state: DriverState, pages: int = 1) -> int:
    """Return the address of a reservation that one object of as many pages fills."""
    va = reserve(session, state, pages * PAGE)
    map_at(session, state, va, physical(session, state, pages * PAGE), pages * PAGE)
    return va


def window(session: FakeSession, state: DriverState, ptr: int | None, size: int) -> bytes:
    """Return the handle of a range."""
    chain = [IpcPhysMemHandleRangeExtDesc(size)]
    return session.run(exporting.get_handle(state, ptr, chain))


def map_page(context: Context, device: Device) -> int:
    """Return where an object of one page of device memory is mapped, alone in its reservation."""
    pointer = context.virtual_mem_reserve(PAGE)
    context.virtual_mem_map(
        pointer, PAGE, context.physical_mem_create(device, PhysicalMemDesc(PAGE))
    )
    return pointer


@contextmanager
def fails(name: str, *words: str) -> Generator[None]:
    """Expect an error by the end of its name, with these words in its description."""
    with pytest.raises(ZeError) as caught:
        yield
    assert caught.value.result is ZeResult[f"ZE_RESULT_ERROR_{name}"], str(caught.value)
    for word in words:
        assert word in caught.value.description
    assert len(caught.value.description) > 10
