"""The application's handle of a physical memory object."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from hostdriver.core.physical import PhysicalObject


@final
class PhysicalMem:
    """A physical memory object; contexts map, describe and destroy it."""

    __slots__ = ("record",)

    def __init__(self, record: PhysicalObject) -> None:
        self.record = record
        """What the driver knows of it; for this package."""

    def __repr__(self) -> str:
        record = self.record
        return f"<PhysicalMem {record.id}: {record.size:#x} bytes on the {record.kind.value}>"


def memory_of(pointer: int | PhysicalMem | None) -> int | PhysicalObject | None:
    """Return a pointer as it is; or the record behind a handle that stands in its place."""
    return pointer.record if isinstance(pointer, PhysicalMem) else pointer


def record_of(handle: PhysicalMem | None) -> PhysicalObject | None:
    """Return the record behind a handle, which may be null."""
    return None if handle is None else handle.record
