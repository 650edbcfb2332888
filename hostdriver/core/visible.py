"""What the CPU sees of opened memory: the parts that stand in memory files are mapped for it.

No descriptor is kept: a mapping holds its file by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi._malformed import Malformed
from firmware.abi.control import FileExtent, ImportFiles
from firmware.abi.replies import FilesTold
from hostdriver.core.calls import exchange, expect
from hostdriver.core.failures import out_of_host_memory, unknown
from hostdriver.core.intervals import IntervalMap
from hostdriver.core.questions import CloseDescriptor, MapDescriptor

if TYPE_CHECKING:
    from hostdriver.core.addresses import Place
    from hostdriver.core.questions import Answer
    from hostdriver.core.state import DeviceState

_MOST_EXTENTS: Final = 512
"""Parts asked for at once; their files are fewer."""


async def show_files(
    device: DeviceState, import_id: int, count: int, place: Place
) -> IntervalMap[None]:
    """Map the `count` parts of opened memory that stand in files where the device sees them.

    Returns:
        The addresses that the CPU may use now.

    Raises:
        Refusal: the device cannot send the files.
        ZeError: a descriptor did not arrive or cannot be mapped; the device is lost. Parts may be
            mapped then.
    """
    shown: IntervalMap[None] = IntervalMap()
    while len(shown) < count:
        capacity = min(_MOST_EXTENTS, count - len(shown), device.payload_size // FileExtent.SIZE)
        command = ImportFiles(
            request=0, import_id=import_id, first=len(shown), capacity=capacity, payload_offset=0
        )
        answer = await exchange(device.index, command, room=capacity * FileExtent.SIZE)
        try:
            await _show(answer, place, shown)
        finally:
            for descriptor in answer.descriptors:
                await CloseDescriptor(descriptor)
    return shown


async def _show(answer: Answer, place: Place, shown: IntervalMap[None]) -> None:
    """Map what one reply told."""
    told = expect(answer.reply, FilesTold)
    if len(answer.descriptors) < told.descriptors:
        raise out_of_host_memory(f"the memory's descriptor is missing: {answer.problem}")
    if not told.count:
        raise unknown("the device told less of the memory's files than there are")
    for row in range(told.count):
        extent = FileExtent.unpack(answer.payload, row * FileExtent.SIZE)
        if isinstance(extent, Malformed) or not _is_sound(extent, answer, place):
            raise unknown(f"the device told nonsense about the memory's files: {extent}")
        va = place.va + extent.offset
        descriptor = answer.descriptors[extent.descriptor]
        problem = await MapDescriptor(descriptor, extent.file_offset, va, extent.size_bytes)
        if problem is not None:
            raise out_of_host_memory(f"the CPU's mapping at {va:#x} failed: {problem}")
        shown.insert(va, va + extent.size_bytes, None)


def _is_sound(extent: FileExtent, answer: Answer, place: Place) -> bool:
    is_inside = extent.offset + extent.size_bytes <= place.size
    return is_inside and extent.descriptor < len(answer.descriptors)
