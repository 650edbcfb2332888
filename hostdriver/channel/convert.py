"""Between structures of the interface and the descriptors and properties of `hostdriver.api`.

Names correspond: `maxMemAllocSize` is `max_mem_alloc_size`. So nothing is listed here but the kinds
of descriptor that may stand in a chain.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar, cast

from hostdriver.api.structures import ChainedDesc, ChainedProperties, UnknownDesc

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hostdriver.channel.structures import Structure

DescT = TypeVar("DescT")
_ELEMENT: Final = 4
"""Bytes of an element of the arrays that properties have."""


def descriptor(kind: type[DescT], structure: Structure) -> DescT:
    """Return the descriptor that a structure of the interface is."""
    values = {_plain(name): value for name, value in structure.values.items()}
    arguments: dict[str, object] = {}
    for name in _names_of(kind):
        if name == "p_next":
            arguments[name] = chain(structure.chain)
        elif _plain(name) in values:
            arguments[name] = values[_plain(name)]
    return kind(**arguments)


def chain(links: Iterable[Structure]) -> list[ChainedDesc | UnknownDesc]:
    """Return the descriptors of a chain; kinds that no call takes are unknown ones."""
    kinds = _kinds()
    found: list[ChainedDesc | UnknownDesc] = []
    for link in links:
        kind = kinds.get(link.stype)
        found.append(UnknownDesc(link.stype) if kind is None else descriptor(kind, link))
    return found


def requested(structure: Structure) -> list[type[ChainedProperties] | UnknownDesc]:
    """Return the structures that are asked for along a chain."""
    kinds = _property_kinds()
    return [kinds.get(link.stype, UnknownDesc(link.stype)) for link in structure.chain]


def fill(structure: Structure, properties: object) -> None:
    """Fill a structure of the interface with properties, and its chain with what stands in theirs.

    Members without a counterpart keep what they were.
    """
    fill_chain(structure, getattr(properties, "p_next", ()))
    values = {_plain(name): getattr(properties, name) for name in _names_of(type(properties))}
    for name, old in structure.values.items():
        value = values.get(_plain(name))
        if value is None:
            continue
        structure.values[name] = _member(value, old)


def fill_chain(structure: Structure, found: Sequence[ChainedProperties | ChainedDesc]) -> None:
    """Fill the links of a structure's chain, each with what was found of its kind."""
    for link in structure.chain:
        for more in found:
            if link.stype == more.stype:
                fill(link, more)


def _member(value: object, old: int | bytes) -> int | bytes:
    """Return a property as a member that was `old`: a number, a text, or numbers in a row."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    if isinstance(value, int):
        return int(value).to_bytes(len(old), "little") if isinstance(old, bytes) else int(value)
    if isinstance(value, tuple):
        numbers = cast("tuple[int, ...]", value)
        return b"".join(number.to_bytes(_ELEMENT, "little") for number in numbers)
    raise TypeError(f"{value!r} is no member of a structure")


@cache
def _property_kinds() -> dict[int, type[ChainedProperties]]:
    """Return every structure that may be asked for along a chain, by its tag."""
    kinds = ChainedProperties.__subclasses__()
    return {int(kind.stype): kind for kind in kinds if "__slots__" in vars(kind)}


@cache
def _kinds() -> dict[int, type[ChainedDesc]]:
    """Return every kind of descriptor that may be chained, by its tag."""
    found: dict[int, type[ChainedDesc]] = {}
    kinds: list[type[ChainedDesc]] = [*ChainedDesc.__subclasses__()]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        # A dataclass with slots is made anew: what it was before is no descriptor that calls know.
        if "__slots__" in vars(kind):
            found[int(kind.stype)] = kind
    return found


def _names_of(kind: type[object]) -> tuple[str, ...]:
    """Return the names of a dataclass's or named tuple's members."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    names: tuple[str, ...] = getattr(kind, "_fields", ())
    return names


@cache
def _plain(name: str) -> str:
    return name.replace("_", "").lower()
