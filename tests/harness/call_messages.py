"""Messages of calls, as the library writes them, for any function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.channel.items import Writer
from hostdriver.channel.specs import NO_COUNT, FunctionSpec, Kind, interface

if TYPE_CHECKING:
    from hostdriver.channel.specs import ParamSpec

ELEMENTS = 2
"""Elements of every array."""


def call_message(spec: FunctionSpec) -> bytes:
    """Return a call in which nothing is null and every output is wanted."""
    writer = Writer()
    for param in spec.params:
        _put(writer, param)
    return writer.message()


def _put(  # noqa: C901 - one case for each kind
    writer: Writer, param: ParamSpec
) -> None:
    count = 1 if param.counter == NO_COUNT else ELEMENTS
    match param.kind:
        case Kind.VALUE | Kind.HANDLE:
            writer.number(3)
        case Kind.PLACE:
            writer.number(0x7000)
            writer.number(0)
        case Kind.BLOB:
            writer.raw(b"\1" * param.size)
        case Kind.STRING | Kind.MEMORY:
            writer.number(4)
            writer.raw(b"text")
        case Kind.VALUES:
            writer.number(count)
            writer.raw(b"\1" * (count * param.size))
        case Kind.HANDLES:
            writer.number(count)
            for _ in range(count):
                writer.number(5)
        case Kind.CHAIN:
            _put_chain(writer)
        case Kind.STRUCTURE | Kind.STRUCTURES | Kind.STRUCTURE_OUT | Kind.STRUCTURES_OUT:
            writer.number(count)
            for _ in range(count):
                _put_structure(writer, param.target)
        case Kind.VALUE_INOUT:
            writer.number(1)
            writer.number(ELEMENTS)
        case _:
            writer.number(count)


def _put_structure(writer: Writer, name: str) -> None:
    spec = interface().structures[name]
    tag = spec.stype.to_bytes(4, "little") if spec.is_tagged else b""
    writer.raw(tag.ljust(spec.size, b"\0"))
    if spec.is_chain:
        _put_chain(writer)


def _put_chain(writer: Writer) -> None:
    """Put one structure that is known and one that is not."""
    known = interface().structures["ze_external_memory_export_desc_t"]
    writer.number(known.stype | known.size << 32)
    writer.raw(known.stype.to_bytes(4, "little").ljust(known.size, b"\0"))
    writer.number(0x1_2345)
    writer.number(0)
