"""Words: integers with named bits (page-table entries, registers, flag words).

A `Word` is an immutable `int`; its named bits are read as attributes. The class statement fails
on overlapping or overflowing bits, `build` fails on values that do not fit. `layout` gives the same
declaration as a construct bit structure: the oracle of the tests.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast, final, overload

import construct

from firmware.abi._malformed import Malformed, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

KindT_co = TypeVar("KindT_co", bound=int, covariant=True)


@final
class Bits(Generic[KindT_co]):
    """One named group of bits: read from an instance it is the value, from the class itself."""

    __slots__ = ("doc", "kind", "low", "mask", "name", "width")

    def __init__(self, high: int, low: int, kind: type[KindT_co], doc: str) -> None:
        """Declare bits `high` to `low`; `kind` is bool, int or an `IntEnum`."""
        self.low = low
        self.width = high - low + 1
        self.mask = ((1 << max(0, self.width)) - 1) << max(0, low)
        self.kind = kind
        self.doc = doc
        self.name = ""

    @overload
    def __get__(self, instance: None, owner: type[Word]) -> Bits[KindT_co]: ...
    @overload
    def __get__(self, instance: Word, owner: type[Word]) -> KindT_co: ...
    def __get__(self, instance: Word | None, owner: type[Word]) -> Bits[KindT_co] | KindT_co:
        if instance is None:
            return self
        return self.kind((int(instance) & self.mask) >> self.low)

    @property
    def high(self) -> int:
        """Highest bit."""
        return self.low + self.width - 1

    @property
    def members(self) -> Mapping[int, IntEnum]:
        """Members that these bits may name; empty where every number is allowed."""
        if issubclass(self.kind, IntEnum):
            return {int(member): member for member in self.kind}
        return {}

    def raw(self, word: int) -> int:
        """Return the number that stands at these bits of `word`."""
        return (word & self.mask) >> self.low

    def of(self, value: int) -> int:
        """Return `value` placed at these bits; ValueError when it does not fit."""
        if value < 0 or value >> self.width:
            raise ValueError(f"{self.name}: {value:#x} does not fit in {self.width} bit(s)")
        return value << self.low

    def text(self, word: int) -> str:
        """Return `name=value` for these bits of `word`; of one bit the name alone, if it is set."""
        value = self.raw(word)
        if self.kind is bool:
            return self.name if value else ""
        member = self.members.get(value)
        return f"{self.name}={value:#x}" if member is None else f"{self.name}={member.name}"


def bit(position: int, doc: str) -> Bits[bool]:
    """Declare one bit, read as a bool."""
    return Bits(position, position, bool, doc)


def bits(high: int, low: int, doc: str) -> Bits[int]:
    """Declare bits `high` to `low` (both included), read as an int."""
    return Bits(high, low, int, doc)


EnumT = TypeVar("EnumT", bound=IntEnum)


def choice(high: int, low: int, kind: type[EnumT], doc: str) -> Bits[EnumT]:
    """Declare bits that hold a member of `kind`; other values are malformed."""
    return Bits(high, low, kind, doc)


class Word(int):
    """Base of all bit-field integers. Subclasses declare bits with `bit`, `bits` and `choice`."""

    WIDTH: ClassVar[int]
    """Bits of the word: 8, 16, 32 or 64."""
    FIELDS: ClassVar[tuple[Bits[int], ...]]
    """The declared bits, lowest first."""
    USED: ClassVar[int]
    """Mask of the declared bits; all others are reserved and must be zero."""
    CHOICES: ClassVar[tuple[tuple[Bits[int], frozenset[int]], ...]]
    """The bits that hold a member of an enumeration, and its numbers."""

    def __init_subclass__(cls, *, width: int = 64) -> None:
        if width not in {8, 16, 32, 64}:
            raise TypeError(f"{cls.__name__}: width {width}, expected 8, 16, 32 or 64")
        fields: list[Bits[int]] = []
        used = 0
        for name, value in list(vars(cls).items()):
            if not isinstance(value, Bits):
                continue
            field = cast("Bits[int]", value)
            field.name = name
            _check_bits(cls.__name__, field, used, width)
            used |= field.mask
            fields.append(field)
        made: Any = cls
        made.WIDTH = width
        made.FIELDS = tuple(sorted(fields, key=lambda field: field.low))
        made.USED = used
        made.CHOICES = tuple(
            (field, frozenset(field.members)) for field in cls.FIELDS if field.members
        )

    @classmethod
    def build(cls, **values: int) -> Self:
        """Return the word with the named bits set, all others zero.

        Raises:
            TypeError: a name that the word does not have.
            ValueError: a value that does not fit its bits.
        """
        known = {field.name: field for field in cls.FIELDS}
        word = 0
        for name, value in values.items():
            if name not in known:
                raise TypeError(f"{cls.__name__} has no bits {name!r}, only {', '.join(known)}")
            word |= known[name].of(int(value))
        return cls(word)

    def malformed(self) -> Malformed | None:
        """Return what breaks the contract in this word, or None."""
        reserved = int(self) & ~self.USED
        if reserved:
            found = reserved & 0xFFFF_FFFF_FFFF_FFFF
            return Malformed(type(self).__name__, "reserved", Reason.RESERVED, 0, found, "zero")
        for field, allowed in self.CHOICES:
            value = (int(self) & field.mask) >> field.low
            if value not in allowed:
                wanted = ", ".join(f"{m.name}={m.value:#x}" for m in field.members.values())
                name = type(self).__name__
                return Malformed(name, field.name, Reason.UNKNOWN_VALUE, 0, value, wanted)
        return None

    @classmethod
    def layout(cls) -> construct.Construct[Mapping[str, int], Mapping[str, int]]:
        """Return the same bits as a construct structure (little endian)."""
        parts: list[Any] = []
        position = cls.WIDTH
        for field in reversed(cls.FIELDS):
            if field.high + 1 < position:
                parts.append(construct.Padding(position - field.high - 1))
            parts.append(construct.Renamed(construct.BitsInteger(field.width), field.name))
            position = field.low
        if position:
            parts.append(construct.Padding(position))
        swapped = construct.ByteSwapped(construct.BitStruct(*parts))
        return cast("construct.Construct[Mapping[str, int], Mapping[str, int]]", swapped)

    def describe(self) -> str:
        """Return the word with its named bits, for people."""
        parts = [text for field in self.FIELDS if (text := field.text(int(self)))]
        reserved = int(self) & ~self.USED
        if reserved:
            parts.append(f"reserved={reserved:#x}")
        return f"{int(self):#0{self.WIDTH // 4 + 2}x} ({' '.join(parts)})"


def _check_bits(word: str, field: Bits[int], used: int, width: int) -> None:
    """Raise TypeError for bits that leave the word or that another group has."""
    if field.low < 0 or field.high >= width or field.width < 1:
        raise TypeError(f"{word}.{field.name}: bits {field.high}:{field.low} of {width}")
    if used & field.mask:
        raise TypeError(f"{word}.{field.name} overlaps bits {used & field.mask:#x}")
    for value, member in field.members.items():
        if value < 0 or value >> field.width:
            raise TypeError(f"{word}.{field.name}: {member!r} does not fit in {field.width} bit(s)")
