"""From addresses to names, for traces and dumps."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, final


class SymbolKind(Enum):
    """What a symbol stands for."""

    FUNCTION = "function"
    OBJECT = "object"
    LABEL = "label"


class Symbol(NamedTuple):
    """A name for the bytes from `address` on; without a size it reaches to the next symbol."""

    address: int
    size: int
    name: str
    kind: SymbolKind


def _preference(symbol: Symbol) -> tuple[int, bool, int, str, str]:
    """Sort by address; of several at one address the best name for a trace is last."""
    is_function = symbol.kind is SymbolKind.FUNCTION
    return symbol.address, is_function, symbol.size, symbol.name, symbol.kind.value


@final
@dataclass(frozen=True, slots=True)
class SymbolTable:
    """Symbols in order of address; at one address functions and larger symbols come last.

    `limit` is the first address behind all memory: the last symbol, if it has no size, ends there.
    """

    symbols: tuple[Symbol, ...]
    limit: int
    _addresses: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.symbols, key=_preference))
        object.__setattr__(self, "symbols", ordered)
        object.__setattr__(self, "_addresses", tuple(symbol.address for symbol in ordered))

    def symbolise(self, address: int) -> str:
        """Return `address` as `name` or `name+0x10`, or in hex when no symbol covers it."""
        symbol = self.find(address)
        if symbol is None:
            return f"{address:#_x}"
        offset = address - symbol.address
        return f"{symbol.name}+{offset:#x}" if offset else symbol.name

    def find(self, address: int) -> Symbol | None:
        """Return the nearest symbol at or below `address` if it covers it, else None."""
        position = bisect_right(self._addresses, address)
        if position == 0:
            return None
        symbol = self.symbols[position - 1]
        if symbol.size:
            end = symbol.address + symbol.size
        elif position < len(self.symbols):
            end = self._addresses[position]
        else:
            end = self.limit
        return symbol if address < end else None

    def named(self, name: str) -> Symbol | None:
        """Return the first symbol with this name, or None."""
        return next((symbol for symbol in self.symbols if symbol.name == name), None)

    def functions(self) -> tuple[Symbol, ...]:
        """Return the functions, in order of address."""
        return tuple(s for s in self.symbols if s.kind is SymbolKind.FUNCTION)
