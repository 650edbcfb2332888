"""Functions and structures as both halves of the channel know them.

`functions.json` is written by `scripts/gen_c_library.py` from the facts of the interface.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

TABLE: Final = Path(__file__).with_name("functions.json")
NO_COUNT: Final = 255
"""Instead of a parameter's number: there is none."""


CORE: Final = "ze"
SYSMAN: Final = "zes"
"""Interfaces: each has tags of its own."""


class Kind(IntEnum):
    """How a parameter travels; the same numbers in C and Python."""

    VALUE = 0
    """A number, flag word or pointer that only counts as a number."""
    HANDLE = 1
    BLOB = 2
    """A structure passed by value."""
    STRING = 3
    MEMORY = 4
    """Bytes that the program wants read, as many as another parameter tells."""
    STRUCTURE = 5
    """One structure that the driver reads."""
    CHAIN = 6
    """A chain without a structure before it."""
    VALUES = 7
    """An array of numbers that the driver reads."""
    HANDLES = 8
    """An array of handles that the driver reads."""
    STRUCTURES = 9
    """An array of structures that the driver reads."""
    PLACE = 10
    """A pointer, in whose stead a handle of physical memory may stand."""
    VALUE_OUT = 11
    VALUE_INOUT = 12
    HANDLE_OUT = 13
    STRUCTURE_OUT = 14
    """One structure that the driver fills; what it held travels along."""
    VALUES_OUT = 15
    HANDLES_OUT = 16
    STRUCTURES_OUT = 17
    BLOB_OUT = 18
    """A structure without a tag that the driver fills."""
    STRING_OUT = 19
    """A text that the library keeps for the program."""
    BYTES_OUT = 20
    """Bytes for a buffer of the program, as many as another parameter tells."""
    EVENT_OUT = 21
    """A handle of an event or fence: its number, where its fence slot is in the program (0: the
    driver has to be asked), 1 if it counts."""
    LIST_OUT = 22
    """A handle of a regular command list: its number, bytes of the longest pattern that a fill of
    its group takes."""
    STREAM_OUT = 23
    """A handle of a queue or immediate list: its number, the row that shows it in the channel (0:
    the driver has to be asked)."""


class FieldSpec(msgspec.Struct, frozen=True, array_like=True):
    """A member of a structure."""

    name: str
    offset: int
    size: int
    is_bytes: bool
    """Text, array or structure: it stays bytes."""


class ParamSpec(msgspec.Struct, frozen=True, array_like=True):
    """A parameter."""

    name: str
    kind: Kind
    flags: int
    counter: int
    """The parameter that counts it, or NO_COUNT."""
    size: int
    target: str
    """Handle type or structure."""


class FunctionSpec(msgspec.Struct, frozen=True):
    """A function that the driver serves."""

    name: str
    number: int
    params: tuple[ParamSpec, ...]
    recorded: bool = False
    """Whether it is an append that the library may record instead of calling."""


class _Layout(msgspec.Struct, frozen=True):
    size: int
    chained: bool
    stypes: tuple[int, ...]
    fields: tuple[FieldSpec, ...]


class _Table(msgspec.Struct, frozen=True):
    handles: tuple[str, ...]
    chains: frozenset[str]
    functions: tuple[FunctionSpec, ...]
    structures: dict[str, _Layout]


class StructureSpec(msgspec.Struct, frozen=True):
    """A structure."""

    name: str
    size: int
    is_tagged: bool
    """Whether it begins with tag and chain."""
    is_chain: bool
    """Whether its chain travels."""
    stype: int
    """Its tag, 0 without one."""
    family: str
    """Prefix of the interface that its tag, and those along its chain, belong to."""
    fields: tuple[FieldSpec, ...]


class Interface(msgspec.Struct, frozen=True):
    """All of it."""

    functions: dict[int, FunctionSpec]
    structures: dict[str, StructureSpec]
    by_tag: dict[str, dict[int, StructureSpec]]
    """Structures by interface and tag."""


@cache
def interface() -> Interface:
    """Return the table, read once."""
    table = msgspec.json.decode(TABLE.read_bytes(), type=_Table)
    structures: dict[str, StructureSpec] = {}
    by_tag: dict[str, dict[int, StructureSpec]] = {CORE: {}, SYSMAN: {}}
    for name, layout in table.structures.items():
        spec = StructureSpec(
            name,
            layout.size,
            layout.chained,
            name in table.chains,
            layout.stypes[0] if layout.stypes else 0,
            SYSMAN if name.startswith(f"{SYSMAN}_") else CORE,
            layout.fields,
        )
        structures[name] = spec
        by_tag[spec.family].update(dict.fromkeys(layout.stypes, spec))
    functions = {function.number: function for function in table.functions}
    return Interface(functions, structures, by_tag)
