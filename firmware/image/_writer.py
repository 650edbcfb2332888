"""A deterministic writer of ELF64 little-endian RISC-V executables.

Equal arguments give equal bytes: there is no clock, no path and no chance in it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Final

from firmware.abi.ids import PAGE_SIZE
from firmware.image.layout import (
    ELF_CLASS_64,
    ELF_EXECUTABLE,
    ELF_LITTLE_ENDIAN,
    ELF_MAGIC,
    ELF_RISCV,
    ELF_VERSION,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.image.layout import SegmentFlags

_EHDR: Final = struct.Struct("<4sBBBBB7xHHIQQQIHHHHHH")
_PHDR: Final = struct.Struct("<IIQQQQQQ")
_SHDR: Final = struct.Struct("<IIQQQQIIQQ")
_SYM: Final = struct.Struct("<IBBHQQ")
_OSABI_NONE: Final = 0
_SYMBOL_ALIGNMENT: Final = 8
_SHN_ABS: Final = 0xFFF1
_BIND_GLOBAL: Final = 1
_TYPE_FILE: Final = 4


class SectionKind(IntEnum):
    """Types of sections (sh_type)."""

    NULL = 0
    PROGBITS = 1
    SYMTAB = 2
    STRTAB = 3
    NOTE = 7
    NOBITS = 8


class SectionFlags(IntFlag):
    """Flags of sections (sh_flags)."""

    NONE = 0
    WRITE = 1
    ALLOC = 2
    EXECUTE = 4


class ProgramKind(IntEnum):
    """Types of segments (p_type)."""

    LOAD = 1
    NOTE = 4


class SymbolType(IntEnum):
    """Types of symbols (low half of st_info)."""

    NOTYPE = 0
    OBJECT = 1
    FUNC = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section to write; one that takes no room in the file has `memory_size` instead of data."""

    name: str
    kind: SectionKind
    flags: SectionFlags = SectionFlags.NONE
    address: int = 0
    data: bytes = b""
    memory_size: int = 0
    alignment: int = 1
    link: int = 0
    info: int = 0
    entry_size: int = 0

    @property
    def size(self) -> int:
        """Size in memory."""
        return len(self.data) or self.memory_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A segment to write: the sections `first` to `last`, by index in the caller's list."""

    kind: ProgramKind
    flags: SegmentFlags
    first: int
    last: int
    alignment: int = PAGE_SIZE


@dataclass(frozen=True, slots=True)
class SymbolEntry:
    """A global symbol to write; `section` counts in the caller's list."""

    name: str
    kind: SymbolType
    section: int
    address: int
    size: int = 0


def write_elf(
    entry: int,
    sections: Sequence[Section],
    programs: Sequence[Program],
    symbols: Sequence[SymbolEntry],
    source_name: str,
) -> bytes:
    """Return the file: headers, sections, symbol and string tables, section headers.

    Every section that is loaded stands in the file at its address modulo the page size.
    """
    table = [Section(name="", kind=SectionKind.NULL), *sections]
    table += _symbol_sections(symbols, source_name, strings_index=len(table) + 1)
    names, name_offsets = _string_table([*(s.name for s in table), ".shstrtab"])
    table.append(Section(name=".shstrtab", kind=SectionKind.STRTAB, data=names))

    body = bytearray(_EHDR.size + _PHDR.size * len(programs))
    offsets = [_place(body, section) for section in table]
    _align(body, _SYMBOL_ALIGNMENT)
    section_offset = len(body)
    for section, offset, name in zip(table, offsets, name_offsets, strict=True):
        body += _section_header(section, offset, name)

    body[: _EHDR.size] = _header(entry, section_offset, len(programs), len(table))
    for index, program in enumerate(programs):
        # The caller's list has no null section in front.
        first, last = program.first + 1, program.last + 1
        header = _program_header(program, table[first : last + 1], offsets[first : last + 1])
        _PHDR.pack_into(body, _EHDR.size + index * _PHDR.size, *header)
    return bytes(body)


def _symbol_sections(
    symbols: Sequence[SymbolEntry], source_name: str, strings_index: int
) -> list[Section]:
    """Return .symtab and .strtab; locals come first, as the format wants."""
    strings, offsets = _string_table(["", source_name, *(symbol.name for symbol in symbols)])
    entries = [bytes(_SYM.size), _SYM.pack(offsets[1], _TYPE_FILE, 0, _SHN_ABS, 0, 0)]
    for symbol, name in zip(symbols, offsets[2:], strict=True):
        info = _BIND_GLOBAL << 4 | symbol.kind
        entries.append(_SYM.pack(name, info, 0, symbol.section + 1, symbol.address, symbol.size))
    symtab = Section(
        name=".symtab",
        kind=SectionKind.SYMTAB,
        data=b"".join(entries),
        alignment=_SYMBOL_ALIGNMENT,
        link=strings_index,
        info=2,
        entry_size=_SYM.size,
    )
    return [symtab, Section(name=".strtab", kind=SectionKind.STRTAB, data=strings)]


def _string_table(names: Sequence[str]) -> tuple[bytes, list[int]]:
    """Return a string table, and the offset of each name in it."""
    table = bytearray(1)
    offsets: list[int] = []
    for name in names:
        offsets.append(len(table) if name else 0)
        table += name.encode() + b"\0" if name else b""
    return bytes(table), offsets


def _place(body: bytearray, section: Section) -> int:
    """Append a section's bytes where they belong; return their offset."""
    if section.kind is SectionKind.NULL:
        return 0
    _align(body, section.alignment)
    if section.flags & SectionFlags.ALLOC:
        body += bytes((section.address - len(body)) % PAGE_SIZE)
    offset = len(body)
    body += section.data
    return offset


def _align(body: bytearray, alignment: int) -> None:
    body += bytes(-len(body) % alignment)


def _header(entry: int, section_offset: int, program_count: int, section_count: int) -> bytes:
    return _EHDR.pack(
        ELF_MAGIC,
        *(ELF_CLASS_64, ELF_LITTLE_ENDIAN, ELF_VERSION, _OSABI_NONE, 0),
        *(ELF_EXECUTABLE, ELF_RISCV, ELF_VERSION),
        *(entry, _EHDR.size, section_offset),
        0,
        *(_EHDR.size, _PHDR.size, program_count, _SHDR.size, section_count),
        section_count - 1,
    )


def _section_header(section: Section, offset: int, name: int) -> bytes:
    return _SHDR.pack(
        *(name, section.kind, section.flags, section.address, offset, section.size),
        *(section.link, section.info),
        *(section.alignment if section.kind else 0, section.entry_size),
    )


def _program_header(
    program: Program, sections: Sequence[Section], offsets: Sequence[int]
) -> tuple[int, ...]:
    """Return the fields of a program header that covers `sections`, gaps included."""
    address = sections[0].address
    filled = [s for s in sections if s.data]
    file_size = filled[-1].address + len(filled[-1].data) - address if filled else 0
    memory_size = sections[-1].address + sections[-1].size - address
    return (
        *(program.kind, program.flags, offsets[0], address, address),
        *(file_size, memory_size, program.alignment),
    )
