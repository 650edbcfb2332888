"""Structures of the interface as a call brings them, and as its reply fills them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from hostdriver.channel.items import MalformedMessageError
from hostdriver.channel.specs import CORE, interface

if TYPE_CHECKING:
    from hostdriver.channel.items import Reader, Writer
    from hostdriver.channel.specs import StructureSpec

MOST_LINKS: Final = 64
_TAG_BYTES: Final = 4
_TAGGED: Final = 16
"""Bytes of tag and chain."""
_TAG_MASK: Final = 0xFFFF_FFFF


@final
@dataclass(slots=True)
class Structure:
    """One structure: its values by the specification's names, and what is chained to it.

    Unknown links of a chain have neither specification nor values.
    """

    stype: int
    spec: StructureSpec | None
    values: dict[str, int | bytes] = field(default_factory=dict[str, "int | bytes"])
    chain: list[Structure] = field(default_factory=list["Structure"])

    @property
    def name(self) -> str:
        """The specification's name, empty for an unknown one."""
        return "" if self.spec is None else self.spec.name

    def blob(self, name: str) -> bytes:
        """Return a member that is text, array or structure.

        Raises:
            KeyError: there is no such member.
        """
        value = self.values[name]
        if isinstance(value, int):
            raise KeyError(f"{self.name}.{name} is a number")
        return value

    def inside(self, name: str, kind: str) -> Structure:
        """Return a member that is a structure itself; its chain is not followed.

        Raises:
            KeyError: there is no such member.
        """
        data, spec = self.blob(name), interface().structures[kind]
        return _parse(spec, data, _tag_of(spec, data))

    def put_inside(self, name: str, structure: Structure) -> None:
        """Set a member that is a structure itself; its tag and chain stay what they were.

        Raises:
            KeyError: there is no such member.
        """
        data, spec = self.blob(name), structure.spec
        if spec is None:
            raise KeyError(f"a structure of tag {structure.stype:#x} is unknown")
        kept = _TAGGED if spec.is_tagged else 0
        self.values[name] = data[:kept] + _build(spec, structure.values)[kept:]

    def number(self, name: str) -> int:
        """Return a value that is a number (KeyError: there is no such member)."""
        value = self.values[name]
        return value if isinstance(value, int) else int.from_bytes(value, "little")

    def fill(self, **values: int | bytes | str) -> None:
        """Set members; texts and bytes are cut or padded to the member's size.

        Raises:
            KeyError: the structure has no such member.
        """
        for name, value in values.items():
            if name not in self.values:
                raise KeyError(f"{self.name} has no member {name}")
            self.values[name] = value.encode() if isinstance(value, str) else value


def read_structure(reader: Reader, name: str) -> Structure:
    """Take a structure, and its chain if that travels, out of a message.

    Raises:
        MalformedMessageError: the message is shorter.
    """
    spec = interface().structures[name]
    data = reader.raw(spec.size)
    structure = _parse(spec, data, _tag_of(spec, data))
    if spec.is_chain:
        structure.chain = read_chain(reader, spec.family)
    return structure


def read_chain(reader: Reader, family: str = CORE) -> list[Structure]:
    """Take a chain of structures of one interface out of a message.

    Raises:
        MalformedMessageError: the message is shorter, or the chain has no end.
    """
    chain: list[Structure] = []
    while head := reader.number():
        tag, size = head & _TAG_MASK, head >> 32
        spec = interface().by_tag[family].get(tag)
        if size != (0 if spec is None else spec.size) or len(chain) >= MOST_LINKS:
            raise MalformedMessageError(f"structure {tag:#x} of {size:#x} bytes in a chain")
        data = reader.raw(size)
        chain.append(Structure(tag, None) if spec is None else _parse(spec, data, tag))
    return chain


def write_structure(writer: Writer, structure: Structure) -> None:
    """Put a structure, and the known links of its chain, into a reply."""
    spec = structure.spec
    if spec is None:
        return
    writer.raw(_build(spec, structure.values))
    if spec.is_chain:
        for link in structure.chain:
            if link.spec is not None:
                writer.raw(_build(link.spec, link.values))


def read_filled(reader: Reader, name: str, before: object) -> Structure:
    """Take a structure out of a reply; `before` is the one that the call brought, with its chain.

    Raises:
        MalformedMessageError: the message is shorter.
    """
    spec = interface().structures[name]
    chain = before.chain if isinstance(before, Structure) else []
    structure = _parse(spec, reader.raw(spec.size), spec.stype)
    if spec.is_chain:
        structure.chain = [
            _parse(link.spec, reader.raw(link.spec.size), link.stype)
            for link in chain
            if link.spec is not None
        ]
    return structure


def _tag_of(spec: StructureSpec, data: bytes) -> int:
    """Return the tag that a program wrote, where it is one of the structure's; else its first.

    A few structures have two tags, which change what members mean; real programs leave it 0.
    """
    tag = int.from_bytes(data[:_TAG_BYTES], "little") if spec.is_tagged else 0
    return tag if interface().by_tag[spec.family].get(tag) is spec else spec.stype


def _parse(spec: StructureSpec, data: bytes, stype: int) -> Structure:
    values: dict[str, int | bytes] = {}
    for each in spec.fields:
        part = data[each.offset : each.offset + each.size]
        values[each.name] = part if each.is_bytes else int.from_bytes(part, "little")
    return Structure(stype, spec, values)


def _build(spec: StructureSpec, values: dict[str, int | bytes]) -> bytes:
    data = bytearray(spec.size)
    for each in spec.fields:
        offset, size, value = each.offset, each.size, values[each.name]
        part = (
            value[:size].ljust(size, b"\0")
            if isinstance(value, bytes)
            else (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        )
        data[offset : offset + size] = part
    return bytes(data)
