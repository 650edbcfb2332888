"""The interface as tables in C, for a program that calls every function at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.channel.specs import NO_COUNT, Kind
from scripts.clibrary.facts import split_array
from scripts.clibrary.params import RELEASE, params_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostdriver.channel.specs import ParamSpec
    from scripts.clibrary.facts import CField, CParam, Facts, Function, Structure

ENDLESS: Final = frozenset({"zeDeviceSynchronize"})
"""Functions that wait without a limit: work that nobody finishes would rightly keep them."""
COUNTING: Final = frozenset({"ze_event_pool_counter_based_exp_desc_t"})
"""Structures that are not chained: events of such pools cannot be signalled by the host, and lists
that wait for one another in a circle would rightly do so for ever."""
NOTHING: Final = 0xFFFF


def tables(facts: Facts) -> str:
    """Return functions, parameters, structures and handle types as a C header."""
    names = [name for name in facts.functions if name not in ENDLESS]
    functions = [facts.functions[name] for name in names]
    parts = [
        *_handle_types(facts),
        *_structures(facts),
        *(text for function in functions for text in _function(facts, function)),
        *_list(facts, functions),
    ]
    return "".join(parts)


def _handle_types(facts: Facts) -> Iterator[str]:
    yield "enum {\n"
    yield "".join(f"    TYPE_{name},\n" for name in facts.handles)
    yield f"    TYPE_COUNT = {len(facts.handles)}\n}};\n\n"


def _structures(facts: Facts) -> Iterator[str]:
    described = {name: facts.structures[name] for name in facts.structures if "ddi" not in name}
    for name, structure in described.items():
        yield f"static const field fields_{name}[] = {{\n"
        for each in structure.fields:
            role, about = _role(facts, structure, each)
            yield f"    {{{each.offset}, {each.size}, {role}, {about}}},\n"
        yield "};\n"
    yield "static const structure structures[] = {\n"
    for name, structure in described.items():
        tag = structure.stypes[0] if structure.stypes and name not in COUNTING else 0
        count = len(structure.fields)
        family = int(structure.family == "zes")
        yield f"    {{{structure.size}, {tag:#x}, fields_{name}, {count}, {family}}},\n"
    yield "};\n"
    yield "enum {\n" + "".join(f"    STRUCTURE_{name},\n" for name in described)
    yield f"    STRUCTURE_COUNT = {len(described)}\n}};\n\n"


def _role(facts: Facts, structure: Structure, member: CField) -> tuple[str, str]:
    """Return what a member of a structure is filled with."""
    kind, suffix = split_array(member.ctype)
    plain = kind.removeprefix("const ")
    if structure.is_chained and member.name in {"stype", "pNext"}:
        return ("TAG" if member.name == "stype" else "CHAIN"), "0"
    if not suffix and (handle := facts.handle_type(plain)):
        return "HANDLE", f"TYPE_{handle}"
    if plain in facts.raw["callbacks"]:
        return "CALLBACK", "0"
    if member.name in {"mode", "freePolicy"}:
        return ("MODE" if member.name == "mode" else "POLICY"), "0"
    if member.name == "fd":
        return "DESCRIPTOR", "0"
    return ("POINTER", "0") if kind.endswith("*") and not suffix else ("NUMBER", "0")


def _function(facts: Facts, function: Function) -> Iterator[str]:
    params = params_of(facts, function)
    if params:
        yield f"static const param params_{function.name}[] = {{\n"
        for declared, param in zip(function.params, params, strict=True):
            about = "0"
            if param.target in facts.handles:
                about = f"TYPE_{param.target}"
            elif param.target in facts.structures:
                about = f"STRUCTURE_{param.target}"
            released = int(bool(param.flags & RELEASE))
            counter = param.counter if param.counter != NO_COUNT else NOTHING
            kind = _kind(facts, function, declared, param)
            yield f"    {{{kind}, {param.size}, {about}, {counter}, {released}}},\n"
        yield "};\n"
    yield f"static uint64_t call_{function.name}(const uint64_t *a)\n{{\n    (void)a;\n"
    values = ", ".join(
        _value(facts, index, each.ctype) for index, each in enumerate(function.params)
    )
    yield f"    return (uint64_t)(uintptr_t){function.name}({values});\n}}\n\n"


def _kind(facts: Facts, function: Function, declared: CParam, param: ParamSpec) -> str:
    """Return what an argument is, where the storm tells more apart than the library does."""
    if declared.ctype in facts.raw["callbacks"]:
        return "KIND_CALLBACK"
    if declared.name == "timeout":
        return "KIND_TIMEOUT"
    if declared.name == "pptr":
        return "KIND_POINTER_OUT"
    if declared.ctype.endswith("*") and param.kind in {Kind.VALUE, Kind.PLACE}:
        return "KIND_POINTER"
    if param.target in facts.handles and param.kind >= Kind.VALUE_OUT and param.counter == NO_COUNT:
        if not _makes(function.name):
            return "KIND_OTHER_HANDLE"
        return "KIND_COUNTING_EVENT" if "CounterBased" in function.name else "KIND_NEW_HANDLE"
    return f"EMUZERO_KIND_{param.kind.name}"


def _makes(name: str) -> bool:
    """Whether what a function gives is new, and its caller's to destroy."""
    return any(word in name for word in ("Create", "Open"))


def _value(facts: Facts, index: int, ctype: str) -> str:
    """Return the expression that is an argument as its parameter's type."""
    plain = ctype.removeprefix("const ")
    if plain in facts.structures:
        return f"*({plain} *)(uintptr_t)a[{index}]"
    if ctype.endswith("*") or facts.handle_type(plain) or plain in facts.raw["callbacks"]:
        return f"({ctype})(uintptr_t)a[{index}]"
    return f"({ctype})a[{index}]"


def _list(facts: Facts, functions: list[Function]) -> Iterator[str]:
    """Yield all functions, those that are served first."""
    served = {*facts.implemented, *facts.annotations["hand_written"]}
    yield "static const function functions[] = {\n"
    for function in sorted(functions, key=lambda each: each.name not in served):
        name, count = function.name, len(function.params)
        params = f"params_{name}" if count else "NULL"
        returns = int(function.returns == "ze_result_t")
        yield f'    {{"{name}", call_{name}, {params}, {count}, {returns}}},\n'
    count = sum(function.name in served for function in functions)
    yield f"}};\nenum {{ FUNCTION_COUNT = {len(functions)}, SERVED_COUNT = {count} }};\n"
