"""What lies where in the range that the exporter builds, and in the window that it exports.

    object 0           object 1                     object 2
    ....[=====mapped=====][======== mapped =========][===== mapped =====]....
              ^ window begins                               window ends ^

Three objects of different sizes are mapped from an offset on, side by side. The window begins at an
odd byte inside the first and ends at an odd byte inside the last. It holds a header, a manifest
with names, lengths and hashes, the files, and at its end room for the importer's reply. The first
file crosses from the first object to the second, the last one from the second to the third, where
their sizes allow it. The importer needs to be told nothing but where the window is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, final

from hostdriver.cli.demo.content import HEADER_SIZE, REPLY_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEAD: Final = 11_111
"""Least bytes of the first mapping before the window: odd, less than the smallest page."""
TAIL: Final = 7_777
"""Least bytes of the window in the last mapping: odd, less than the smallest page."""
OFFSET_PAGES: Final = (1, 3, 2)
"""Pages of each object before the part that is mapped."""


class Piece(NamedTuple):
    """One physical object, of which a part is mapped."""

    object_size: int
    object_offset: int
    """First byte of the object that is mapped."""
    va_offset: int
    """Where in the range."""
    size: int
    """Bytes mapped."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where everything is."""

    page_size: int
    pieces: tuple[Piece, ...]
    window_offset: int
    """Where in the range the window begins."""
    window_size: int
    file_offsets: tuple[int, ...]
    """Where in the window each file begins."""

    @property
    def range_size(self) -> int:
        """Bytes of address space."""
        return sum(piece.size for piece in self.pieces)

    @property
    def memory_size(self) -> int:
        """Bytes of device memory."""
        return sum(piece.object_size for piece in self.pieces)

    @property
    def reply_offset(self) -> int:
        """Where in the window the importer's reply goes."""
        return self.window_size - REPLY_SIZE


def plan(
    manifest_size: int, file_sizes: Sequence[int], page_size_of: Callable[[int], int]
) -> Layout:
    """Return the layout for a manifest and at least one file.

    Args:
        manifest_size: bytes of the manifest.
        file_sizes: bytes of each file.
        page_size_of: what size and address of memory of a size have to be multiples of.
    """
    start = HEADER_SIZE + manifest_size
    least = start + sum(file_sizes) + REPLY_SIZE
    page_size = page_size_of(1)
    while True:
        pieces = _pieces(LEAD + least + 2, page_size)
        larger = max(page_size_of(piece.object_size) for piece in pieces)
        if larger <= page_size:
            break
        page_size = larger
    first, _, last = pieces
    room = last.va_offset + last.size - 2
    wished = first.size - start - file_sizes[0] // 2
    lead = max(LEAD, min(wished, room - least)) | 1
    offsets = _spread(start, file_sizes, last.va_offset - lead, room - REPLY_SIZE - lead)
    files_end = offsets[-1] + file_sizes[-1]
    end = max(lead + files_end + REPLY_SIZE, last.va_offset + TAIL) | 1
    return Layout(
        page_size=page_size,
        pieces=pieces,
        window_offset=lead,
        window_size=end - lead,
        file_offsets=offsets,
    )


def _pieces(size: int, page_size: int) -> tuple[Piece, ...]:
    """Return three mapped parts of different lengths with room for `size` bytes in all."""
    pages = -(-size // page_size)
    short = max(1, pages // 6)
    medium = max(short + 1, pages // 3)
    long = max(medium + 1, pages - short - medium)
    pieces: list[Piece] = []
    for before, length in zip(OFFSET_PAGES, (short, long, medium), strict=True):
        pieces.append(
            Piece(
                object_size=(before + length) * page_size,
                object_offset=before * page_size,
                va_offset=sum(piece.size for piece in pieces),
                size=length * page_size,
            )
        )
    return tuple(pieces)


def _spread(start: int, file_sizes: Sequence[int], border: int, limit: int) -> tuple[int, ...]:
    """Return where each file begins: the first at `start`, the middle of the last at `border`.

    The others lie between them with equal gaps. Where `border` is too near, they touch; no file
    passes `limit`.
    """
    *_, last_size = file_sizes
    touching = start + sum(file_sizes) - last_size
    latest = limit - last_size
    last = max(touching, min(border - last_size // 2, latest))
    gap = (last - touching) // max(1, len(file_sizes) - 1)
    offsets: list[int] = []
    position = start
    for size in file_sizes:
        offsets.append(position)
        position += size + gap
    return tuple(offsets)
