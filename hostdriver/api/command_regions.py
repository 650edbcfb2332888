"""Arguments of a copy of boxes: where each begins, its pitches, and whether they go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hostdriver.api.validation import check_pointer
from hostdriver.core.commandlists_boxes import Extent, overlap
from hostdriver.core.commandlists_memory import Box, pointer_of
from hostdriver.core.failures import invalid_argument, null_pointer, overlapping_regions

if TYPE_CHECKING:
    from hostdriver.api.command_structures import CopyRegion
    from hostdriver.core.state import DriverState


class Side(NamedTuple):
    """One side of a copy of boxes, as the application gives it."""

    name: str
    """`dst` or `src`."""
    ptr: int | None
    region: CopyRegion | None
    pitch: int
    """Bytes from row to row; 0: rows follow each other."""
    slice_pitch: int
    """Bytes from slice to slice; 0: slices follow each other."""


def read_region(
    state: DriverState, destination: Side, source: Side
) -> tuple[Box, Box, tuple[int, int, int]]:
    """Return both boxes, and their shape in bytes, rows and slices.

    Raises:
        ZeError: null pointer; different shapes; a pitch smaller than what it steps over; boxes
            that share bytes.
    """
    for side in (destination, source):
        check_pointer(side.ptr, f"{side.name}ptr")
    shape = _shape(destination)
    if shape != _shape(source):
        raise invalid_argument(
            f"dstRegion is {shape} bytes, rows and slices, srcRegion is {_shape(source)}"
        )
    to, out_of = _box(state, destination, shape), _box(state, source, shape)
    if shape[0] and shape[1] and _share(to, out_of, shape):
        raise overlapping_regions(
            f"the regions at {to.pointer.address:#x} and {out_of.pointer.address:#x} share bytes"
        )
    return to, out_of, shape


def _shape(side: Side) -> tuple[int, int, int]:
    region = side.region
    if region is None:
        raise null_pointer(f"{side.name}Region")
    return region.width, region.height, region.depth or 1


def _box(state: DriverState, side: Side, shape: tuple[int, int, int]) -> Box:
    region = side.region
    if region is None:
        raise null_pointer(f"{side.name}Region")
    width, height, depth = shape
    row = side.pitch or width
    layer = side.slice_pitch or row * height
    if height > 1 and row < width:
        raise invalid_argument(f"{side.name}Pitch is {row}, a row has {width} bytes")
    row = max(row, width)
    reach = (height - 1) * row + width
    if depth > 1 and layer < reach:
        raise invalid_argument(f"{side.name}SlicePitch is {layer}, a slice has {reach} bytes")
    offset = region.origin_x + region.origin_y * row + region.origin_z * layer
    return Box(pointer_of(state, check_pointer(side.ptr)), offset, row, layer)


def _share(one: Box, other: Box, shape: tuple[int, int, int]) -> bool:
    if one.pointer.is_client != other.pointer.is_client:
        return False
    return overlap(_extent(one, shape), _extent(other, shape))


def _extent(box: Box, shape: tuple[int, int, int]) -> Extent:
    return Extent(box.pointer.address + box.offset, *shape, box.row_pitch, box.slice_pitch)
