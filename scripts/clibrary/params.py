"""What each parameter is on the way between program and driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.channel.specs import NO_COUNT, Kind, ParamSpec

if TYPE_CHECKING:
    from scripts.clibrary.facts import CParam, Facts, Function

RELEASE: Final = 1
OPTIONAL: Final = 2
NULL_ON_FAILURE: Final = 4
CLOSES: Final = 8
OPENS: Final = 16


def params_of(facts: Facts, function: Function) -> tuple[ParamSpec, ...]:
    """Return the parameters of a function; the annotations decide where the types do not."""
    notes: dict[str, str] = facts.implemented.get(function.name, {})
    return tuple(_param(facts, function, index, notes) for index in range(len(function.params)))


def _param(facts: Facts, function: Function, index: int, notes: dict[str, str]) -> ParamSpec:
    param = function.params[index]
    count = _count_of(function, index, notes)
    kind, size, target = _kind(facts, param, count, notes.get(param.name, ""))
    full_name = f"{function.name}.{param.name}"
    is_needed = param.name in function.not_null or full_name in facts.annotations["not_null"]
    flags = 0 if is_needed else OPTIONAL
    if "release" in param.tags:
        flags |= RELEASE
    if full_name in facts.annotations["null_on_failure"]:
        flags |= NULL_ON_FAILURE
    if full_name in facts.annotations["closes"]:
        flags |= CLOSES
    if full_name in facts.annotations["opens"]:
        flags |= OPENS
    return ParamSpec(param.name, kind, flags, count, size, target)


def _count_of(function: Function, index: int, notes: dict[str, str]) -> int:
    """Return the number of the parameter that counts this one's elements, or NO_COUNT."""
    param = function.params[index]
    if not param.ctype.endswith("*"):
        return NO_COUNT
    names = [each.name for each in function.params]
    note = notes.get(param.name, "")
    if note:
        counter = note.partition(":")[2]
        return names.index(counter) if counter else NO_COUNT
    before = function.params[index - 1] if index else None
    if before is None or param.ctype in {"void*", "const void*", "void**"}:
        return NO_COUNT
    counts = before.name in {"pCount", "count"} or before.name.startswith("num")
    return index - 1 if counts else NO_COUNT


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
    many = count != NO_COUNT
    if handle := facts.handle_type(base):
        kinds = (Kind.HANDLES_OUT if many else Kind.HANDLE_OUT) if out else Kind.HANDLES
        return kinds, 8, handle
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
    if handle := facts.handle_type(ctype):
        return Kind.HANDLE, 8, handle
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
