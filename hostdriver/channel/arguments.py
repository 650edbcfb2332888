"""Arguments of a call, and its outputs, by the names of the specification."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, final

from hostdriver.channel.items import MalformedMessageError, Reader, Writer
from hostdriver.channel.scalars import parts_of
from hostdriver.channel.specs import NO_COUNT, Kind, interface
from hostdriver.channel.structures import (
    Structure,
    read_chain,
    read_filled,
    read_structure,
    write_structure,
)
from hostdriver.core.failures import unsupported_feature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.channel.specs import FunctionSpec, ParamSpec

Item: TypeAlias = "int | bytes | Structure"
Value: TypeAlias = "Item | list[Item] | None"
ItemT = TypeVar("ItemT", int, bytes, Structure)

_EVENT: Final = Struct("<3Q")
_NOTED: Final = Struct("<2Q")
MOST_ELEMENTS: Final = 1 << 13
"""Elements of one array: more do not fit a slot."""


@final
@dataclass(slots=True)
class Arguments:
    """What a program gave to a function, and what it gets back.

    An output that the program does not want is absent from `wanted`.
    """

    spec: FunctionSpec
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    wanted: dict[str, int] = field(default_factory=dict[str, int])
    """Outputs that have a place, and how many elements fit there."""
    outputs: dict[str, Value] = field(default_factory=dict[str, Value])

    def number(self, name: str) -> int:
        """Return a number, flag word or pointer."""
        return self._one(name, int)

    def handle(self, name: str) -> int | None:
        """Return the number of a handle; None for null."""
        return self._one(name, int) or None

    def place(self, name: str) -> tuple[int, int | None]:
        """Return a pointer, and the number of the handle that stands in its stead, if one does."""
        pointer, number = self._many(name, int)
        return pointer, number or None

    def subject(self) -> int | None:
        """Return the number of the handle that comes first, whatever its name; None for null."""
        return self.handle(self.spec.params[0].name)

    def blob(self, name: str) -> bytes:
        """Return bytes: a structure by value, a text, or memory of the program."""
        return self._one(name, bytes)

    def structure(self, name: str) -> Structure:
        """Return a structure that is not null.

        Raises:
            MalformedMessageError: it is null.
        """
        return self._one(name, Structure)

    def numbers(self, name: str) -> list[int]:
        """Return an array of numbers or handles; empty for null."""
        return self._many(name, int)

    def structures(self, name: str) -> list[Structure]:
        """Return an array of structures, or a chain; empty for null."""
        return self._many(name, Structure)

    def put(self, name: str, value: Item) -> None:
        """Set an output; it is dropped when the program does not want it."""
        if name in self.wanted:
            self.outputs[name] = value

    def put_event(self, name: str, number: int, slot: int, *, counts: bool) -> None:
        """Set a handle of an event or fence; `slot` is the program's address of its fence slot."""
        if name in self.wanted:
            self.outputs[name] = _EVENT.pack(number, slot, counts)

    def put_noted(self, name: str, number: int, note: int) -> None:
        """Set a handle of a list or queue, and what the library notes of it (see `Kind`)."""
        if name in self.wanted:
            self.outputs[name] = _NOTED.pack(number, note)

    def put_list(self, count_name: str, array_name: str, items: Sequence[Item]) -> None:
        """Set a counted array in the interface's way: how many there are, or as many as fit."""
        room = self.wanted.get(array_name, 0)
        asked = self.number(count_name)
        if not room or not asked:
            self.put(count_name, len(items))
            return
        given = list(items[: min(room, asked)])
        self.put(count_name, len(given))
        self.outputs[array_name] = given

    def _one(self, name: str, kind: type[ItemT]) -> ItemT:
        value = self.values[name]
        if not isinstance(value, kind):
            raise MalformedMessageError(f"{name} is {value!r}, expected {kind.__name__}")
        return value

    def _many(self, name: str, kind: type[ItemT]) -> list[ItemT]:
        value = self.values[name]
        items = value if isinstance(value, list) else []
        return [item for item in items if isinstance(item, kind)]


def spec_of(number: int) -> FunctionSpec:
    """Return the function of a number.

    Raises:
        ZeError: the driver does not serve such a one.
    """
    spec = interface().functions.get(number)
    if spec is None:
        raise unsupported_feature(f"function {number} is unknown")
    return spec


def read_arguments(spec: FunctionSpec, data: bytes) -> Arguments:
    """Return the arguments in a call's message.

    Raises:
        MalformedMessageError: the message is not what the function's parameters are.
    """
    arguments = Arguments(spec)
    reader = Reader(data)
    for shape, names, param in parts_of(spec):
        if shape is not None:
            arguments.values.update(zip(names, reader.numbers(shape), strict=True))
        elif param.kind < Kind.VALUE_OUT:
            arguments.values[param.name] = _read_input(reader, param)
        else:
            _read_output(arguments, reader, param)
    return arguments


def write_outputs(arguments: Arguments) -> bytes:
    """Return the outputs as the message of a reply.

    Of each there is a count, and as many elements: none of what the program has no place for.
    """
    writer = Writer()
    for param in arguments.spec.params:
        if param.kind < Kind.VALUE_OUT:
            continue
        if param.name in arguments.wanted:
            _write(writer, param, arguments)
        else:
            writer.number(0)
    return writer.message()


def read_outputs(arguments: Arguments, data: bytes) -> dict[str, list[Item]]:
    """Return what `write_outputs` wrote for a call, for those who watch: elements by output.

    Raises:
        MalformedMessageError: the message is not what the function's outputs are.
    """
    reader = Reader(data)
    found: dict[str, list[Item]] = {}
    for param in arguments.spec.params:
        if param.kind < Kind.VALUE_OUT:
            continue
        items = [_read_element(reader, param, arguments, at) for at in range(_count(reader))]
        if param.name in arguments.wanted:
            found[param.name] = items
    return found


def _read_element(reader: Reader, param: ParamSpec, arguments: Arguments, index: int) -> Item:
    match param.kind:
        case Kind.STRUCTURE_OUT | Kind.STRUCTURES_OUT:
            given = arguments.values[param.name]
            before = given if isinstance(given, list) else [given]
            return read_filled(reader, param.target, before[index] if index < len(before) else None)
        case Kind.BLOB_OUT | Kind.BYTES_OUT | Kind.STRING_OUT:
            return reader.raw(param.size)
        case Kind.EVENT_OUT:
            number, _, _ = _EVENT.unpack(reader.raw(_EVENT.size))
            return int(number)
        case Kind.LIST_OUT | Kind.STREAM_OUT:
            number, _ = _NOTED.unpack(reader.raw(_NOTED.size))
            return int(number)
        case _:
            return reader.number()


def _read_input(reader: Reader, param: ParamSpec) -> Value:
    match param.kind:
        case Kind.PLACE:
            return [reader.number(), reader.number()]
        case Kind.BLOB:
            return reader.raw(param.size)
        case Kind.CHAIN:
            return [*read_chain(reader)]
        case Kind.STRING | Kind.MEMORY:
            return reader.raw(reader.number())
        case Kind.VALUES:
            data = reader.raw(_count(reader) * param.size)
            parts = range(0, len(data), param.size)
            return [int.from_bytes(data[at : at + param.size], "little") for at in parts]
        case Kind.HANDLES:
            return [reader.number() for _ in range(_count(reader))]
        case Kind.STRUCTURE:
            return read_structure(reader, param.target) if reader.number() else None
        case Kind.STRUCTURES:
            return [read_structure(reader, param.target) for _ in range(_count(reader))]
        case _:
            raise MalformedMessageError(f"{param.name} is of kind {param.kind}")


def _read_output(arguments: Arguments, reader: Reader, param: ParamSpec) -> None:
    """Note what an output's place holds now, and how much fits there."""
    room = _count(reader)
    if room:
        arguments.wanted[param.name] = room
    match param.kind:
        case Kind.VALUE_INOUT:
            arguments.values[param.name] = reader.number()
        case Kind.STRUCTURE_OUT | Kind.STRUCTURES_OUT:
            found: list[Item] = [read_structure(reader, param.target) for _ in range(room)]
            is_single = param.counter == NO_COUNT
            arguments.values[param.name] = found
            if found and is_single:
                arguments.values[param.name] = arguments.outputs[param.name] = found[0]
        case _:
            arguments.values[param.name] = None


def _count(reader: Reader) -> int:
    count = reader.number()
    if count > MOST_ELEMENTS:
        raise MalformedMessageError(f"an array of {count} elements")
    return count


def _write(writer: Writer, param: ParamSpec, arguments: Arguments) -> None:
    value = arguments.outputs.get(param.name)
    items = value if isinstance(value, list) else [] if value is None else [value]
    if param.counter == NO_COUNT and not items:
        items = [_unset(arguments, param)]
    writer.number(len(items))
    for item in items:
        if isinstance(item, Structure):
            write_structure(writer, item)
        elif isinstance(item, int):
            writer.number(item)
        else:
            writer.raw(item.ljust(param.size, b"\0"))


def _unset(arguments: Arguments, param: ParamSpec) -> Item:
    """Return what stands for an output that nobody set: what it was, or zeros."""
    before = arguments.values.get(param.name)
    if isinstance(before, int | Structure):
        return before
    if param.kind is Kind.EVENT_OUT:
        return bytes(_EVENT.size)
    if param.kind in {Kind.LIST_OUT, Kind.STREAM_OUT}:
        return bytes(_NOTED.size)
    if param.kind in {Kind.BLOB_OUT, Kind.BYTES_OUT}:
        return bytes(param.size)
    if param.kind is Kind.STRUCTURE_OUT:
        spec = interface().structures[param.target]
        return Structure(spec.stype, spec, {each.name: 0 for each in spec.fields})
    return 0
