"""The ELF header: is this a firmware image at all, and where are its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from firmware.abi.registers import BootError
from firmware.image._fence import EHDR, PHDR, SHDR, check_inside, parse
from firmware.image.errors import ImageError
from firmware.image.layout import (
    ELF_CLASS_64,
    ELF_EXECUTABLE,
    ELF_LITTLE_ENDIAN,
    ELF_MAGIC,
    ELF_RISCV,
    ELF_VERSION,
    MAX_PROGRAM_HEADERS,
    MAX_SECTIONS,
)

# File offsets of the header's fields, for details of errors.
_EI_VERSION: Final = 0x06
_E_VERSION: Final = 0x14
_E_EHSIZE: Final = 0x34
_E_PHENTSIZE: Final = 0x36
_E_PHNUM: Final = 0x38
_E_SHENTSIZE: Final = 0x3A
_E_SHNUM: Final = 0x3C
E_SHSTRNDX: Final = 0x3E


@dataclass(frozen=True, slots=True)
class Header:
    """What the ELF header says; both tables lie inside the file."""

    entry: int
    program_offset: int
    program_count: int
    section_offset: int
    section_count: int
    names_index: int


def read_header(data: bytes) -> Header:
    """Return the checked ELF header.

    Raises:
        ImageError: NOT_ELF, TRUNCATED, WRONG_CLASS, WRONG_ENDIANNESS, WRONG_MACHINE, WRONG_TYPE or
            BAD_HEADER.
    """
    _check_identity(data)
    fields = parse(EHDR, data, 0)
    sizes = (
        ("EI_VERSION", _EI_VERSION, data[_EI_VERSION], ELF_VERSION),
        ("e_version", _E_VERSION, fields["e_version"], "EV_CURRENT"),
        ("e_ehsize", _E_EHSIZE, fields["e_ehsize"], EHDR.sizeof()),
        ("e_phentsize", _E_PHENTSIZE, fields["e_phentsize"], PHDR.sizeof()),
        ("e_shentsize", _E_SHENTSIZE, fields["e_shentsize"], SHDR.sizeof()),
    )
    for name, at, found, expected in sizes:
        if found != expected:
            raise ImageError(
                BootError.BAD_HEADER, at, f"{name} at {at:#x} is {found}, expected {expected}"
            )
    program_count: int = fields["e_phnum"]
    section_count: int = fields["e_shnum"]
    _check_count("e_phnum", _E_PHNUM, program_count, MAX_PROGRAM_HEADERS)
    _check_count("e_shnum", _E_SHNUM, section_count, MAX_SECTIONS)
    header = Header(
        entry=fields["e_entry"],
        program_offset=fields["e_phoff"],
        program_count=program_count,
        section_offset=fields["e_shoff"],
        section_count=section_count,
        names_index=fields["e_shstrndx"],
    )
    check_inside(data, header.program_offset, program_count * PHDR.sizeof(), "program headers")
    check_inside(data, header.section_offset, section_count * SHDR.sizeof(), "section headers")
    return header


def _check_identity(data: bytes) -> None:
    """Check the first bytes; a wrong one says more than that the rest is missing."""
    found = data[: len(ELF_MAGIC)]
    if found != ELF_MAGIC[: len(found)]:
        raise ImageError(
            BootError.NOT_ELF,
            int.from_bytes(found, "little"),
            f"the file begins with {found.hex(' ')}, expected {ELF_MAGIC.hex(' ')}",
        )
    check_inside(data, 0, EHDR.sizeof(), "ELF header")
    _expect(BootError.WRONG_CLASS, "EI_CLASS", data[4], ELF_CLASS_64)
    _expect(BootError.WRONG_ENDIANNESS, "EI_DATA", data[5], ELF_LITTLE_ENDIAN)
    machine = int.from_bytes(data[0x12:0x14], "little")
    _expect(BootError.WRONG_MACHINE, "e_machine", machine, ELF_RISCV)
    kind = int.from_bytes(data[0x10:0x12], "little")
    _expect(BootError.WRONG_TYPE, "e_type", kind, ELF_EXECUTABLE)


def _expect(reason: BootError, name: str, found: int, expected: int) -> None:
    if found != expected:
        raise ImageError(reason, found, f"{name} is {found}, expected {expected}")


def _check_count(name: str, at: int, found: int, most: int) -> None:
    if found > most:
        raise ImageError(
            BootError.BAD_HEADER, at, f"{name} at {at:#x} is {found}, expected at most {most}"
        )
