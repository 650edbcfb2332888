"""The fence around pyelftools: one structure of a file in, its fields or `ImageError` out.

Only the structures of pyelftools are used, each on a slice that was checked to be there. Its
`ELFFile` believes what a file says about itself: it follows links from section to section,
decompresses, and iterates over as many entries as a header names, up to 2^64.
"""

from __future__ import annotations

from io import BytesIO
from typing import Final

from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.construct import Container, Struct, ULInt32
from elftools.elf.structs import ELFStructs

from firmware.abi.registers import BootError
from firmware.image.errors import ImageError


def _structs() -> ELFStructs:
    structs = ELFStructs(little_endian=True, elfclass=64)
    structs.create_basic_structs()
    structs.create_advanced_structs("ET_EXEC", "EM_RISCV", "ELFOSABI_SYSV")
    return structs


_STRUCTS: Final = _structs()
EHDR: Final = _STRUCTS.Elf_Ehdr
PHDR: Final = _STRUCTS.Elf_Phdr
SHDR: Final = _STRUCTS.Elf_Shdr
SYM: Final = _STRUCTS.Elf_Sym
# pyelftools reads a note's type as one of a core dump or of GNU; here it is a number.
NHDR: Final = Struct("Elf_Nhdr", ULInt32("n_namesz"), ULInt32("n_descsz"), ULInt32("n_kind"))


def parse(struct: Struct, data: bytes, at: int) -> Container:
    """Decode one structure of fixed size at `at`."""
    size = struct.sizeof()
    name = struct.name or "structure"
    check_inside(data, at, size, name)
    try:
        fields: Container = struct_parse(struct, BytesIO(data[at : at + size]))
    except ELFError as error:
        raise ImageError(BootError.BAD_HEADER, at, f"{name} at {at:#x}: {error}") from error
    return fields


def check_inside(data: bytes, offset: int, size: int, what: str) -> None:
    """Raise ImageError(TRUNCATED) unless the file has `size` bytes at `offset`."""
    if offset + size > len(data):
        raise ImageError(
            BootError.TRUNCATED,
            offset + size,
            f"{what}: {size:#x} bytes at {offset:#x}, the file has {len(data):#x}",
        )


def printable(text: bytes) -> str | None:
    """Return UTF-8 bytes as text that is safe to print, else None."""
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return None
    return decoded if decoded.isprintable() else None
