"""What each parameter is on the way between program and driver."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from scripts.clibrary.facts import CParam, Facts, Function


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
    VALUE_OUT = 10
    VALUE_INOUT = 11
    HANDLE_OUT = 12
    STRUCTURE_OUT = 13
    """One structure that the driver fills; what it held travels along."""
    VALUES_OUT = 14
    HANDLES_OUT = 15
    STRUCTURES_OUT = 16
    BLOB_OUT = 17
    """A structure without a tag that the driver fills."""
    STRING_OUT = 18
    """A text that the library keeps for the program."""
    BYTES_OUT = 19
    """Bytes for a buffer of the program, as many as another parameter tells."""


NONE: Final = 255
"""No other parameter."""
RELEASE: Final = 1
OPTIONAL: Final = 2
NULL_ON_FAILURE: Final = 4


class Param(NamedTuple):
    """One parameter as the tables tell it."""

    name: str
    kind: Kind
    flags: int
    counter: int
    """Number of the parameter that counts its elements or bytes."""
    size: int
    """Bytes of the value, or of one element."""
    target: str
    """Handle type or structure that it is."""


def params_of(facts: Facts, function: Function) -> tuple[Param, ...]:
    """Return the parameters of a function; the annotations decide where the types do not."""
    notes: dict[str, str] = facts.implemented.get(function.name, {})
    return tuple(_param(facts, function, index, notes) for index in range(len(function.params)))


def _param(facts: Facts, function: Function, index: int, notes: dict[str, str]) -> Param:
    param = function.params[index]
    count = _count_of(function, index, notes)
    kind, size, target = _kind(facts, param, count, notes.get(param.name, ""))
    flags = 0 if param.name in function.not_null else OPTIONAL
    if "release" in param.tags:
        flags |= RELEASE
    if f"{function.name}.{param.name}" in facts.annotations["null_on_failure"]:
        flags |= NULL_ON_FAILURE
    return Param(param.name, kind, flags, count, size, target)


def _count_of(function: Function, index: int, notes: dict[str, str]) -> int:
    """Return the number of the parameter that counts this one's elements, or NONE."""
    param = function.params[index]
    if not param.ctype.endswith("*"):
        return NONE
    names = [each.name for each in function.params]
    note = notes.get(param.name, "")
    if ":" in note:
        return names.index(note.partition(":")[2])
    before = function.params[index - 1] if index else None
    if before is None or param.ctype in {"void*", "const void*", "void**"}:
        return NONE
    counts = before.name in {"pCount", "count"} or before.name.startswith("num")
    return index - 1 if counts else NONE


def _kind(facts: Facts, param: CParam, count: int, note: str) -> tuple[Kind, int, str]:
    ctype = param.ctype
    forced = note.partition(":")[0]
    if not ctype.endswith("*"):
        return _plain(facts, ctype)
    base = ctype.removeprefix("const ").removesuffix("*")
    out = "out" in param.tags
    if forced:
        return Kind[forced], 1 if base in {"void", "char"} else facts.size_of(base), _target(base)
    if base == "char" and not out:
        return Kind.STRING, 0, ""
    if base == "void":
        return (Kind.CHAIN, 0, "") if param.name == "pNext" else (Kind.VALUE, 8, "")
    many = count != NONE
    if base in facts.handles:
        kinds = (Kind.HANDLES_OUT if many else Kind.HANDLE_OUT) if out else Kind.HANDLES
        return kinds, 8, base
    if base in facts.structures:
        return _of_structure(facts, base, out=out, many=many), facts.structures[base].size, base
    size = facts.size_of(base)
    if not out:
        return Kind.VALUES, size, ""
    if many:
        return Kind.VALUES_OUT, size, ""
    return (Kind.VALUE_INOUT if "in" in param.tags else Kind.VALUE_OUT), size, ""


def _plain(facts: Facts, declared: str) -> tuple[Kind, int, str]:
    ctype = declared.removeprefix("const ")
    if ctype in facts.handles:
        return Kind.HANDLE, 8, ctype
    if ctype in facts.structures:
        return Kind.BLOB, facts.structures[ctype].size, ctype
    return Kind.VALUE, facts.size_of(ctype), ""


def _of_structure(facts: Facts, base: str, *, out: bool, many: bool) -> Kind:
    if not out:
        return Kind.STRUCTURES if many else Kind.STRUCTURE
    if many:
        return Kind.STRUCTURES_OUT
    return Kind.STRUCTURE_OUT if facts.structures[base].is_chained else Kind.BLOB_OUT


def _target(base: str) -> str:
    return base if base.startswith("ze") else ""
