"""Changes single fields of an ELF64 file, found by name; knows nothing of the product."""

from __future__ import annotations

import struct
from typing import Final

_Fields = dict[str, tuple[int, str]]

_HEADER: Final[_Fields] = {
    "EI_CLASS": (0x04, "B"),
    "EI_DATA": (0x05, "B"),
    "EI_VERSION": (0x06, "B"),
    "e_type": (0x10, "<H"),
    "e_machine": (0x12, "<H"),
    "e_version": (0x14, "<I"),
    "e_entry": (0x18, "<Q"),
    "e_phoff": (0x20, "<Q"),
    "e_shoff": (0x28, "<Q"),
    "e_flags": (0x30, "<I"),
    "e_ehsize": (0x34, "<H"),
    "e_phentsize": (0x36, "<H"),
    "e_phnum": (0x38, "<H"),
    "e_shentsize": (0x3A, "<H"),
    "e_shnum": (0x3C, "<H"),
    "e_shstrndx": (0x3E, "<H"),
}
_PROGRAM: Final[_Fields] = {
    "p_type": (0x00, "<I"),
    "p_flags": (0x04, "<I"),
    "p_offset": (0x08, "<Q"),
    "p_vaddr": (0x10, "<Q"),
    "p_paddr": (0x18, "<Q"),
    "p_filesz": (0x20, "<Q"),
    "p_memsz": (0x28, "<Q"),
    "p_align": (0x30, "<Q"),
}
_SECTION: Final[_Fields] = {
    "sh_name": (0x00, "<I"),
    "sh_type": (0x04, "<I"),
    "sh_flags": (0x08, "<Q"),
    "sh_addr": (0x10, "<Q"),
    "sh_offset": (0x18, "<Q"),
    "sh_size": (0x20, "<Q"),
    "sh_link": (0x28, "<I"),
    "sh_info": (0x2C, "<I"),
    "sh_addralign": (0x30, "<Q"),
    "sh_entsize": (0x38, "<Q"),
}
_SYMBOL: Final[_Fields] = {
    "st_name": (0x00, "<I"),
    "st_info": (0x04, "B"),
    "st_other": (0x05, "B"),
    "st_shndx": (0x06, "<H"),
    "st_value": (0x08, "<Q"),
    "st_size": (0x10, "<Q"),
}


class Fields:
    """One header of a file: fields are read and stored by name."""

    def __init__(self, data: bytearray, at: int, fields: _Fields) -> None:
        self.at = at
        self._data = data
        self._fields = fields

    def __getitem__(self, name: str) -> int:
        offset, code = self._fields[name]
        return int(struct.unpack_from(code, self._data, self.at + offset)[0])

    def __setitem__(self, name: str, value: int) -> None:
        offset, code = self._fields[name]
        struct.pack_into(code, self._data, self.at + offset, value)


class Elf:
    """A file to change; `bytes` gives the result."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)
        self.header = Fields(self.data, 0, _HEADER)

    def __bytes__(self) -> bytes:
        return bytes(self.data)

    def program(self, index: int) -> Fields:
        """Return a program header."""
        return Fields(self.data, self.header["e_phoff"] + 56 * index, _PROGRAM)

    def section(self, wanted: str | int) -> Fields:
        """Return a section header by index or name."""
        if isinstance(wanted, int):
            return Fields(self.data, self.header["e_shoff"] + 64 * wanted, _SECTION)
        for index in range(self.header["e_shnum"]):
            section = self.section(index)
            if self.name_of(section) == wanted:
                return section
        raise KeyError(wanted)

    def name_of(self, section: Fields) -> str:
        """Return a section's name."""
        strings = self.section(self.header["e_shstrndx"])
        return self._string(strings["sh_offset"] + section["sh_name"])

    def symbol(self, wanted: str) -> Fields:
        """Return a symbol by name."""
        table, strings = self.section(".symtab"), self.section(".strtab")
        for at in range(table["sh_offset"], table["sh_offset"] + table["sh_size"], 24):
            symbol = Fields(self.data, at, _SYMBOL)
            if self._string(strings["sh_offset"] + symbol["st_name"]) == wanted:
                return symbol
        raise KeyError(wanted)

    def contents(self, section: str) -> memoryview:
        """Return the bytes of a section, to change in place."""
        header = self.section(section)
        start = header["sh_offset"]
        return memoryview(self.data)[start : start + header["sh_size"]]

    def append(self, data: bytes) -> int:
        """Add bytes at the end, aligned to a page; return their offset."""
        self.data += bytes(-len(self.data) % 4096)
        offset = len(self.data)
        self.data += data
        return offset

    def _string(self, start: int) -> str:
        return self.data[start : self.data.index(0, start)].decode()
