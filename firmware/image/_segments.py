"""Which segments are loaded, and whether they may be."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from firmware.abi.ids import PAGE_SIZE
from firmware.abi.registers import BootError
from firmware.image._fence import check_inside
from firmware.image.errors import ImageError
from firmware.image.image import Segment
from firmware.image.layout import INSTRUCTION_SIZE, SegmentFlags

if TYPE_CHECKING:
    from collections.abc import Iterable

    from firmware.image._tables import ProgramHeader

# A plain number: the complement of a flag holds no unknown bits.
_ALL_FLAGS: Final = int(SegmentFlags.READ | SegmentFlags.WRITE | SegmentFlags.EXECUTE)
_WRITE_EXECUTE: Final = SegmentFlags.WRITE | SegmentFlags.EXECUTE
_DYNAMIC: Final = ("PT_DYNAMIC", "PT_INTERP")


class Memory(NamedTuple):
    """The firmware's memory: addresses `base` to `base + size`."""

    base: int
    size: int


def load_segments(
    data: bytes, headers: Iterable[ProgramHeader], memory: Memory
) -> tuple[Segment, ...]:
    """Return the load segments in order of address.

    Raises:
        ImageError: BAD_SEGMENT, OVERSIZED, OVERLAP, or TRUNCATED.
    """
    placed: list[tuple[ProgramHeader, Segment]] = []
    for header in headers:
        if header.kind in _DYNAMIC:
            raise _bad(header, f"{header.kind} asks for a dynamic linker, and there is none")
        if header.kind != "PT_LOAD":
            continue
        _check_rights(header)
        _check_alignment(header)
        _check_sizes(header, memory)
        check_inside(data, header.offset, header.file_size, f"segment at {header.address:#_x}")
        placed.append((header, _segment(data, header)))
    placed.sort(key=lambda pair: pair[1].address)
    for (_, before), (header, segment) in pairwise(placed):
        if segment.address < before.end:
            raise ImageError(
                BootError.OVERLAP,
                header.at,
                f"program header at {header.at:#x}: segment at {segment.address:#_x} begins inside"
                f" the one at {before.address:#_x} to {before.end:#_x}",
            )
    return tuple(segment for _, segment in placed)


def check_entry(entry: int, segments: Iterable[Segment]) -> None:
    """Check that the entry point is an instruction that came with the file.

    Raises:
        ImageError: NO_ENTRY.
    """
    for segment in segments:
        code_end = segment.address + len(segment.data)
        inside = segment.address <= entry and entry + INSTRUCTION_SIZE <= code_end
        if inside and segment.flags & SegmentFlags.EXECUTE and entry % INSTRUCTION_SIZE == 0:
            return
    raise ImageError(
        BootError.NO_ENTRY,
        entry,
        f"e_entry is {entry:#_x}, expected a multiple of {INSTRUCTION_SIZE} inside the code of an"
        " executable segment",
    )


def _segment(data: bytes, header: ProgramHeader) -> Segment:
    return Segment(
        address=header.address,
        data=data[header.offset : header.offset + header.file_size],
        memory_size=header.memory_size,
        flags=SegmentFlags(header.flags),
    )


def _check_rights(header: ProgramHeader) -> None:
    flags = header.flags
    if flags & ~_ALL_FLAGS:
        raise _bad(header, f"p_flags is {flags:#x}, expected bits of {_ALL_FLAGS:#x}")
    if not flags & SegmentFlags.READ:
        raise _bad(header, f"p_flags is {flags:#x}, expected it to be readable")
    if flags & _WRITE_EXECUTE == _WRITE_EXECUTE:
        raise _bad(header, f"p_flags is {flags:#x}, writable and executable at once")


def _check_alignment(header: ProgramHeader) -> None:
    alignment = header.alignment
    if alignment.bit_count() != 1 or alignment < PAGE_SIZE:
        raise _bad(
            header, f"p_align is {alignment:#x}, expected a power of two from {PAGE_SIZE:#x}"
        )
    # Rights hold for pages, so no two segments may share one.
    if header.address % PAGE_SIZE:
        raise _bad(
            header, f"p_vaddr is {header.address:#_x}, expected a multiple of {PAGE_SIZE:#x}"
        )
    if (header.address - header.offset) % alignment:
        raise _bad(
            header,
            f"p_vaddr {header.address:#_x} and p_offset {header.offset:#x} differ modulo p_align"
            f" {alignment:#x}",
        )
    if header.physical != header.address:
        raise _bad(
            header,
            f"p_paddr is {header.physical:#_x}, expected p_vaddr {header.address:#_x}: addresses"
            " are physical",
        )


def _check_sizes(header: ProgramHeader, memory: Memory) -> None:
    if header.file_size > header.memory_size:
        raise _bad(
            header, f"p_filesz {header.file_size:#x} is larger than p_memsz {header.memory_size:#x}"
        )
    if header.memory_size == 0:
        raise _bad(header, "p_memsz is 0")
    end = memory.base + memory.size
    if header.address < memory.base or header.address + header.memory_size > end:
        raise ImageError(
            BootError.OVERSIZED,
            header.at,
            f"program header at {header.at:#x}: segment of {header.memory_size:#x} bytes at"
            f" {header.address:#_x} leaves the memory from {memory.base:#_x} to {end:#_x}",
        )


def _bad(header: ProgramHeader, text: str) -> ImageError:
    return ImageError(BootError.BAD_SEGMENT, header.at, f"program header at {header.at:#x}: {text}")
