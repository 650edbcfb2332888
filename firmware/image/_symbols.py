"""From the symbol table of a file to the names that traces use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.registers import BootError
from firmware.image._contents import read_symbols
from firmware.image._fence import check_inside
from firmware.image._tables import string_at
from firmware.image.errors import ImageError
from firmware.image.layout import MAX_NAME, SegmentFlags
from firmware.image.symbolise import Symbol, SymbolKind, SymbolTable

if TYPE_CHECKING:
    from firmware.image._contents import RawSymbol
    from firmware.image._tables import SectionHeader
    from firmware.image.image import Segment

_KINDS: Final = {
    "STT_FUNC": SymbolKind.FUNCTION,
    "STT_OBJECT": SymbolKind.OBJECT,
    "STT_NOTYPE": SymbolKind.LABEL,
}
_NOWHERE: Final = ("SHN_UNDEF", "SHN_ABS", "SHN_COMMON")
_NOT_NAMES: Final = ("$", ".L")
"""Mapping symbols ($x, $d) and local labels of compilers."""


def find_symbols(
    data: bytes, sections: tuple[SectionHeader, ...], segments: tuple[Segment, ...]
) -> SymbolTable:
    """Return the symbols of code and data; those of nothing that is loaded are left out.

    Raises:
        ImageError: NO_SYMBOLS, BAD_SYMBOLS or TRUNCATED.
    """
    table = next((section for section in sections if section.kind == "SHT_SYMTAB"), None)
    if table is None:
        raise ImageError(
            BootError.NO_SYMBOLS,
            len(sections),
            f"no symbol table (SHT_SYMTAB) among {len(sections)} sections",
        )
    strings = _strings(data, sections, table)
    symbols: list[Symbol] = []
    for raw in read_symbols(data, table):
        symbol = _symbol(data, strings, raw, segments)
        if symbol is not None:
            symbols.append(symbol)
    if not any(symbol.kind is SymbolKind.FUNCTION for symbol in symbols):
        raise ImageError(
            BootError.NO_SYMBOLS, len(sections), f"no function in the symbol table at {table.at:#x}"
        )
    return SymbolTable(tuple(symbols), limit=segments[-1].end)


def _strings(
    data: bytes, sections: tuple[SectionHeader, ...], table: SectionHeader
) -> SectionHeader:
    """Return the string table that the symbol table names."""
    if table.link >= len(sections) or sections[table.link].kind != "SHT_STRTAB":
        raise ImageError(
            BootError.BAD_SYMBOLS,
            table.at,
            f"section header at {table.at:#x}: sh_link is {table.link}, expected the index of a"
            f" string table below {len(sections)}",
        )
    strings = sections[table.link]
    check_inside(data, strings.offset, strings.size, "names of symbols")
    return strings


def _symbol(
    data: bytes, strings: SectionHeader, raw: RawSymbol, segments: tuple[Segment, ...]
) -> Symbol | None:
    """Return what a trace can use of a symbol, or None."""
    kind = _KINDS.get(str(raw.kind))
    if kind is None or raw.section in _NOWHERE:
        return None
    name = string_at(data, strings, raw.name_offset)
    if name is None:
        raise ImageError(
            BootError.BAD_SYMBOLS,
            raw.at,
            f"symbol at {raw.at:#x}: st_name {raw.name_offset:#x} is not the offset of a printable"
            f" name of at most {MAX_NAME} bytes",
        )
    if not name or name.startswith(_NOT_NAMES):
        return None
    home = next((s for s in segments if _covers(s, raw)), None)
    if kind is SymbolKind.FUNCTION and (home is None or not home.flags & SegmentFlags.EXECUTE):
        raise ImageError(
            BootError.BAD_SYMBOLS,
            raw.at,
            f"symbol at {raw.at:#x}: function {name} of {raw.size:#x} bytes at {raw.address:#_x}"
            " does not lie in an executable segment",
        )
    return None if home is None else Symbol(raw.address, raw.size, name, kind)


def _covers(segment: Segment, raw: RawSymbol) -> bool:
    return segment.address <= raw.address < segment.end and raw.address + raw.size <= segment.end
