"""Calls as they stood in the slots of the channel, decoded by the channel's own tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from firmware.abi.channel import ArgumentNote
from hostdriver.channel.arguments import Arguments, read_arguments, read_outputs
from hostdriver.channel.items import MalformedMessageError, Reader
from hostdriver.channel.specs import Kind, interface
from hostdriver.channel.structures import Structure
from hostdriver.cli.trace.vocabulary import (
    RESULT,
    Address,
    Shown,
    bytes_shown,
    functions,
    handle_shown,
    members,
    number_shown,
    result_name,
)

if TYPE_CHECKING:
    from hostdriver.channel.arguments import Item, Value
    from hostdriver.channel.specs import ParamSpec

PHYSICAL: Final = "ze_physical_mem_handle_t"
_LISTS: Final = {Kind.VALUES_OUT, Kind.HANDLES_OUT, Kind.STRUCTURES_OUT}
_HANDLES: Final = {Kind.HANDLE, Kind.HANDLES, Kind.HANDLE_OUT, Kind.HANDLES_OUT, Kind.EVENT_OUT}


class Begun(NamedTuple):
    """A call that has begun."""

    function: str
    arguments: dict[str, Shown]
    message: Arguments
    """Needed to understand the reply."""


class Noted(NamedTuple):
    """A call that the library answered by itself."""

    function: str
    arguments: dict[str, Shown]
    result: str
    nanoseconds: int
    error: str


def decode_call(number: int, data: bytes) -> Begun:
    """Return a call by its function's number and its message.

    Raises:
        MalformedMessageError: there is no such function, or the message is not its arguments.
    """
    spec = interface().functions.get(number)
    if spec is None:
        raise MalformedMessageError(f"function {number} is unknown")
    message = read_arguments(spec, data)
    types = _types_of(number)
    shown = {
        param.name: _value(param, types[param.name], message.values[param.name])
        for param in spec.params
        if param.kind < Kind.VALUE_OUT or param.kind is Kind.VALUE_INOUT
    }
    return Begun(spec.name, shown, message)


def decode_outputs(message: Arguments, data: bytes) -> dict[str, Shown]:
    """Return what a reply brings to a call.

    Raises:
        MalformedMessageError: the message is not the function's outputs.
    """
    if not data:
        return {}
    types = _types_of(message.spec.number)
    found = read_outputs(message, data)
    return {
        param.name: _output(param, types[param.name], found[param.name])
        for param in message.spec.params
        if param.name in found
    }


def decode_note(data: bytes) -> Noted:
    """Return the call of which a note tells.

    Raises:
        MalformedMessageError: it is no note.
    """
    reader = Reader(data)
    number, result, nanoseconds = reader.number(), reader.number(), reader.number()
    if number >= len(functions()):
        raise MalformedMessageError(f"function {number} is unknown")
    names = functions()[number]
    if reader.number() != len(names.params):
        raise MalformedMessageError(f"{names.name} has {len(names.params)} parameters")
    arguments = {param.name: _noted(reader, param.ctype) for param in names.params}
    error = reader.raw(reader.number()).decode(errors="replace")
    shown = result_name(result) if names.returns == RESULT else f"{result:#_x}"
    return Noted(names.name, arguments, shown, nanoseconds, error)


def _types_of(number: int) -> dict[str, str]:
    return {param.name: param.ctype for param in functions()[number].params}


def _noted(reader: Reader, ctype: str) -> Shown:
    kind, number = reader.number(), reader.number()
    if kind == ArgumentNote.BYTES:
        return bytes_shown(ctype, reader.raw(number))
    if kind == ArgumentNote.HANDLE:
        return handle_shown(ctype, number)
    if ctype.endswith("_handle_t"):
        return Address(number) if number else None
    return number_shown(ctype, number)


def _output(param: ParamSpec, ctype: str, items: list[Item]) -> Shown:
    shown = [_value(param, ctype, item) for item in items]
    return shown[0] if len(shown) == 1 and param.kind not in _LISTS else shown


def _value(param: ParamSpec, ctype: str, value: Value) -> Shown:
    if param.kind is Kind.PLACE and isinstance(value, list):
        return _place(*(item for item in value if isinstance(item, int)))
    if isinstance(value, list):
        return [_value(param, ctype, item) for item in value]
    if isinstance(value, Structure):
        return _structure(value)
    if isinstance(value, bytes):
        return bytes_shown(ctype, value)
    if value is None:
        return None
    if param.kind in _HANDLES:
        return handle_shown(param.target, value)
    plain = ctype if param.kind is Kind.VALUE else ctype.removesuffix("*")
    return number_shown(plain, value)


def _place(pointer: int, handle: int) -> Shown:
    """Return a pointer, or the handle of physical memory that stands in its stead."""
    return handle_shown(PHYSICAL, handle) if handle else number_shown("void*", pointer)


def _structure(structure: Structure) -> dict[str, Shown]:
    types = members(structure.name)
    shown: dict[str, Shown] = {}
    if structure.spec is None:
        return {"stype": number_shown("ze_structure_type_t", structure.stype)}
    for name, value in structure.values.items():
        ctype = types.get(name, "")
        if isinstance(value, bytes):
            shown[name] = bytes_shown(ctype, value)
        elif ctype.endswith("_handle_t"):
            shown[name] = Address(value) if value else None
        else:
            shown[name] = number_shown(ctype, value)
    if structure.chain:
        shown["pNext"] = [{"struct": link.name, **_structure(link)} for link in structure.chain]
    return shown
