"""What stands in an ELF file's notes and symbol tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from firmware.abi.registers import BootError
from firmware.image._fence import NHDR, SYM, check_inside, parse
from firmware.image.errors import ImageError
from firmware.image.layout import MAX_NAME, MAX_SYMBOLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from firmware.image._tables import Kind, ProgramHeader, SectionHeader

_NHDR_SIZE: Final = NHDR.sizeof()
_SYM_SIZE: Final = SYM.sizeof()


@dataclass(frozen=True, slots=True)
class Note:
    """One note; its descriptor is `size` bytes at file offset `at`, inside the file."""

    at: int
    kind: int
    name: bytes
    """Name with its zero, cut when it is longer than a name may be."""
    size: int


@dataclass(frozen=True, slots=True)
class RawSymbol:
    """One symbol, unchecked; `at` is its file offset."""

    at: int
    name_offset: int
    kind: Kind
    section: Kind
    address: int
    size: int


def read_notes(data: bytes, segment: ProgramHeader) -> Iterator[Note]:
    """Yield the notes of a PT_NOTE segment; ImageError(BAD_NOTE) where one leaves it."""
    check_inside(data, segment.offset, segment.file_size, "notes")
    # Notes of 64-bit files come with an alignment of 4, some of GNU's with 8.
    alignment = 8 if segment.alignment == 8 else 4
    at = segment.offset
    end = at + segment.file_size
    while end - at >= _NHDR_SIZE:
        fields = parse(NHDR, data, at)
        name_size: int = fields["n_namesz"]
        descriptor_size: int = fields["n_descsz"]
        name_at = at + _NHDR_SIZE
        descriptor_at = at + _padded(_NHDR_SIZE + name_size, alignment)
        if descriptor_at + descriptor_size > end:
            raise ImageError(
                BootError.BAD_NOTE,
                at,
                f"note at {at:#x} has {name_size:#x} bytes of name and {descriptor_size:#x} of"
                f" descriptor, {end - at - _NHDR_SIZE:#x} bytes are left in its segment",
            )
        yield Note(
            at=descriptor_at,
            kind=fields["n_kind"],
            name=data[name_at : name_at + min(name_size, MAX_NAME + 1)],
            size=descriptor_size,
        )
        at = descriptor_at + _padded(descriptor_size, alignment)


def read_symbols(data: bytes, table: SectionHeader) -> Iterator[RawSymbol]:
    """Yield the symbols of a table, the null symbol included; ImageError(BAD_SYMBOLS)."""
    count, rest = divmod(table.size, _SYM_SIZE)
    if table.entry_size != _SYM_SIZE or rest or count > MAX_SYMBOLS:
        raise ImageError(
            BootError.BAD_SYMBOLS,
            table.at,
            f"section header at {table.at:#x}: {table.size:#x} bytes of symbols of"
            f" {table.entry_size} bytes, expected at most {MAX_SYMBOLS} of {_SYM_SIZE}",
        )
    check_inside(data, table.offset, table.size, "symbol table")
    for at in range(table.offset, table.offset + table.size, _SYM_SIZE):
        fields = parse(SYM, data, at)
        yield RawSymbol(
            at=at,
            name_offset=fields["st_name"],
            kind=fields["st_info"]["type"],
            section=fields["st_shndx"],
            address=fields["st_value"],
            size=fields["st_size"],
        )


def _padded(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
