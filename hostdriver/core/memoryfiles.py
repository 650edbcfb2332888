"""Files of memory that can be passed on: the driver's descriptor, and the application's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.core.questions import CloseDescriptor, DropTicket, GiveDescriptor

if TYPE_CHECKING:
    from hostdriver.core.allocations import Allocation
    from hostdriver.core.physical import PhysicalObject
    from hostdriver.core.questions import TicketFile


async def file_of(memory: Allocation | PhysicalObject) -> TicketFile | str:
    """Return the application's descriptor of a memory file, the same one as long as the memory.

    The answer says why there is none: the application is at its limit, the memory was freed.
    """
    file, descriptor = memory.file, memory.descriptor
    if file is None and descriptor is not None:
        given = await GiveDescriptor(descriptor)
        if isinstance(given, str):
            return given
        if memory.file is None and memory.descriptor is not None:
            memory.file = given
        else:
            # Another thread asked meanwhile, or freed the memory.
            await DropTicket(given)
    return memory.file or "the memory was freed by another thread"


async def close_files(memory: Allocation | PhysicalObject) -> None:
    """Close both descriptors of memory that goes, where it has them."""
    descriptor, memory.descriptor = memory.descriptor, None
    file, memory.file = memory.file, None
    if descriptor is not None:
        await CloseDescriptor(descriptor)
    if file is not None:
        await DropTicket(file)
