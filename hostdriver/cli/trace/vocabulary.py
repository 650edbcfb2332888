"""What numbers of the interface mean: names of functions, parameters, members and values.

`names.json` is written by `scripts/gen_c_library.py` from the facts of the interface.
"""

from __future__ import annotations

import re
import struct
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, final

import msgspec

from hostdriver.channel.specs import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Shown: TypeAlias = "int | float | str | list[Shown] | dict[str, Shown] | None"
"""A value as JSON has it; an `Address` is a number that people read as hex."""
NAMES: Final[Path] = TABLE.with_name("names.json")
RESULT: Final = "ze_result_t"
_HANDLE: Final = re.compile(r"zes?_(?P<kind>\w+)_handle_t")
_FLOATS: Final = {"float": "<f", "double": "<d"}
_SIGNED: Final = {"int32_t": 32, "int64_t": 64}


@final
class Address(int):
    """A pointer of the program, or another number that reads best in hex."""

    __slots__ = ()


class ParamNames(NamedTuple):
    """A parameter: its name and C type."""

    name: str
    ctype: str


class FunctionNames(NamedTuple):
    """A function of the interface."""

    name: str
    returns: str
    params: tuple[ParamNames, ...]


class _Table(msgspec.Struct, frozen=True):
    functions: list[tuple[str, str, list[tuple[str, str]]]]
    members: dict[str, dict[str, str]]
    enums: dict[str, dict[int, str]]
    flags: dict[str, dict[int, str]]


@cache
def _table() -> _Table:
    return msgspec.json.decode(NAMES.read_bytes(), type=_Table)


@cache
def functions() -> tuple[FunctionNames, ...]:
    """Return every function, by its number."""
    return tuple(
        FunctionNames(name, returns, tuple(ParamNames(*param) for param in params))
        for name, returns, params in _table().functions
    )


def function_name(number: int) -> str:
    """Return what a function is called; programs may tell of some that do not exist."""
    known = functions()
    return known[number].name if 0 <= number < len(known) else f"function {number}"


def members(structure: str) -> dict[str, str]:
    """Return the C types of a structure's members by name."""
    return _table().members.get(structure, {})


def number_shown(ctype: str, number: int) -> Shown:
    """Return a number of some C type as its type names it."""
    table = _table()
    if ctype in table.enums:
        return table.enums[ctype].get(number, number)
    if ctype in table.flags:
        return _flags(table.flags[ctype], number)
    if ctype.endswith("*"):
        return Address(number) if number else None
    if ctype in _FLOATS:
        code = _FLOATS[ctype]
        data = number.to_bytes(8, "little")[: struct.calcsize(code)]
        return float(struct.unpack(code, data)[0])
    bits = _SIGNED.get(ctype, 0)
    return number - (1 << bits) if bits and number >> (bits - 1) else number


def handle_shown(ctype: str, number: int) -> Shown:
    """Return a handle by the number that the driver gave it; None for null."""
    found = _HANDLE.fullmatch(ctype)
    kind = found["kind"] if found else "handle"
    return f"{kind}#{number}" if number else None


def bytes_shown(ctype: str, data: bytes) -> Shown:
    """Return bytes as their type says: as text, as words of a structure, or else as hex."""
    structure = ctype.removesuffix("*")
    leaves = list(_leaves(structure))
    if leaves and leaves == ["uint64_t"] * (len(data) // 8) and len(data) % 8 == 0:
        return _words(structure, iter(struct.unpack(f"<{len(leaves)}Q", data)))
    text = data.rstrip(b"\0")
    if "char" in ctype and all(0x20 <= byte < 0x7F for byte in text):
        return text.decode("ascii")
    return data.hex()


def result_name(number: int) -> str:
    """Return the name of a `ze_result_t`."""
    return str(number_shown(RESULT, number))


def _leaves(structure: str) -> Iterator[str]:
    """Yield the types of a structure's members, and of theirs, in their order."""
    for ctype in members(structure).values():
        if members(ctype):
            yield from _leaves(ctype)
        else:
            yield ctype


def _words(structure: str, words: Iterator[int]) -> dict[str, Shown]:
    return {
        name: _words(ctype, words) if members(ctype) else next(words)
        for name, ctype in members(structure).items()
    }


def _flags(names: dict[int, str], number: int) -> Shown:
    found = [name for bit, name in names.items() if bit and number & bit == bit]
    rest = number & ~sum(bit for bit in names if bit and number & bit == bit)
    return "|".join([*found, *([hex(rest)] if rest else [])]) if number else 0
