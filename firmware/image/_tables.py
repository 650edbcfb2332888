"""The tables of an ELF file: program headers, and section headers with their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from firmware.abi.registers import BootError
from firmware.image._fence import PHDR, SHDR, check_inside, parse, printable
from firmware.image._header import E_SHSTRNDX
from firmware.image.errors import ImageError
from firmware.image.layout import MAX_NAME

if TYPE_CHECKING:
    from firmware.image._header import Header

Kind: TypeAlias = str | int
"""A value of an ELF enumeration: its name, or the number when it has none."""


@dataclass(frozen=True, slots=True)
class ProgramHeader:
    """One program header, unchecked; `at` is its file offset."""

    at: int
    kind: Kind
    flags: int
    offset: int
    address: int
    physical: int
    file_size: int
    memory_size: int
    alignment: int


@dataclass(frozen=True, slots=True)
class SectionHeader:
    """One section header, unchecked; `at` is its file offset."""

    at: int
    name_offset: int
    kind: Kind
    offset: int
    size: int
    link: int
    entry_size: int


def read_program_headers(data: bytes, header: Header) -> tuple[ProgramHeader, ...]:
    """Return all program headers."""
    headers: list[ProgramHeader] = []
    for index in range(header.program_count):
        at = header.program_offset + index * PHDR.sizeof()
        fields = parse(PHDR, data, at)
        headers.append(
            ProgramHeader(
                at=at,
                kind=fields["p_type"],
                flags=fields["p_flags"],
                offset=fields["p_offset"],
                address=fields["p_vaddr"],
                physical=fields["p_paddr"],
                file_size=fields["p_filesz"],
                memory_size=fields["p_memsz"],
                alignment=fields["p_align"],
            )
        )
    return tuple(headers)


def read_sections(data: bytes, header: Header) -> tuple[SectionHeader, ...]:
    """Return all section headers, the null section included."""
    headers: list[SectionHeader] = []
    for index in range(header.section_count):
        at = header.section_offset + index * SHDR.sizeof()
        fields = parse(SHDR, data, at)
        headers.append(
            SectionHeader(
                at=at,
                name_offset=fields["sh_name"],
                kind=fields["sh_type"],
                offset=fields["sh_offset"],
                size=fields["sh_size"],
                link=fields["sh_link"],
                entry_size=fields["sh_entsize"],
            )
        )
    return tuple(headers)


def section_names(
    data: bytes, header: Header, sections: tuple[SectionHeader, ...]
) -> tuple[str, ...]:
    """Return the name of each section; a file without sections has no names."""
    if not sections:
        return ()
    if header.names_index >= len(sections) or sections[header.names_index].kind != "SHT_STRTAB":
        raise ImageError(
            BootError.BAD_HEADER,
            E_SHSTRNDX,
            f"e_shstrndx at {E_SHSTRNDX:#x} is {header.names_index}, expected the index of a"
            f" string table below {len(sections)}",
        )
    strings = sections[header.names_index]
    check_inside(data, strings.offset, strings.size, "names of sections")
    names: list[str] = []
    for section in sections:
        name = string_at(data, strings, section.name_offset)
        if name is None:
            raise ImageError(
                BootError.BAD_HEADER,
                section.at,
                f"section header at {section.at:#x}: sh_name {section.name_offset:#x} is not the"
                f" offset of a printable name of at most {MAX_NAME} bytes",
            )
        names.append(name)
    return tuple(names)


def string_at(data: bytes, strings: SectionHeader, offset: int) -> str | None:
    """Return the printable string at `offset` of a string table inside the file, else None."""
    if offset >= strings.size:
        return None
    start = strings.offset + offset
    end = data.find(b"\0", start, min(strings.offset + strings.size, start + MAX_NAME + 1))
    if end < 0:
        return None
    return printable(data[start:end])
