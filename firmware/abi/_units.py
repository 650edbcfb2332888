"""Units: how the compiled codec reads the parts of a record, as few numbers as it can.

Opcode and flags of a work command, say, are one number that is looked up once; opcode and reserved
bytes of a control command are one number that is compared once.
"""

from collections.abc import Mapping
from enum import IntEnum, IntFlag
from functools import cache
from itertools import accumulate
from typing import Final, NamedTuple

from firmware.abi._wire import Field

_LISTED_FLAGS: Final = 6
"""Flag words of up to this many bits have all their values listed, at most 64."""
_NUMBERS: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""`struct` codes of numbers by their size."""


class Unit(NamedTuple):
    """What is read as one number or byte string: one field, or constants with what is behind."""

    code: str
    """The `struct` code."""
    size: int
    last: Field
    """The last field, the only one that may have more than one value."""
    constant: int | bytes | None
    """The one allowed value, if the unit is nothing but constants."""
    base: int
    """The constants before `last`, as part of a number."""

    @property
    def table(self) -> Mapping[int, int]:
        """The values of the last field by the number that is read."""
        shift = (self.size - self.last.size) * 8
        members = members_of(self.last)
        return {self.base | number << shift: member for number, member in members.items()}


def units_of(parts: tuple[Field, ...]) -> list[Unit]:
    """Return the units of a record, which cover its parts in order."""
    units: list[Unit] = []
    start = 0
    while start < len(parts):
        count = _fused(parts[start:])
        units.append(_unit(parts[start : start + count]))
        start += count
    return units


def _unit(parts: tuple[Field, ...]) -> Unit:
    last, size = parts[-1], sum(part.size for part in parts)
    data = b"".join(_constant_bytes(part) for part in parts)
    as_number = len(parts) > 1 or _can_be_number(last)
    code = _NUMBERS[size] if as_number else last.scalar.struct_code
    base = int.from_bytes(data, "little")
    if last.constant is None:
        return Unit(code, size, last, None, base)
    return Unit(code, size, last, last.constant if code.endswith("s") else base, base)


def _constant_bytes(part: Field) -> bytes:
    value = part.constant or 0
    return value if isinstance(value, bytes) else int(value).to_bytes(part.size, "little")


def _fused(parts: tuple[Field, ...]) -> int:
    """Return how many of the first parts can be read as one aligned number; at least one."""
    best = 1
    for count, size in enumerate(accumulate(part.size for part in parts), start=1):
        before, last = parts[: count - 1], parts[count - 1]
        if any(part.constant is None for part in before) or size > max(_NUMBERS):
            break
        fits = size in _NUMBERS and parts[0].offset % size == 0
        looked_up = is_listed(last) and not last.extensible
        if fits and (last.constant is not None or looked_up):
            best = count
    return best


def _can_be_number(part: Field) -> bool:
    return part.reserved and part.size in _NUMBERS and part.offset % part.size == 0


def is_listed(part: Field) -> bool:
    """Return whether values of the field are looked up in a dictionary of members."""
    few = part.flag_mask.bit_count() <= _LISTED_FLAGS
    return part.kinds is not None or (part.flags is not None and few)


def members_of(part: Field) -> Mapping[int, int]:
    """Return every value of an enumeration, or of a listed flag word, by its number.

    A look-up here costs a tenth of a call of the enumeration.
    """
    if part.kinds is not None:
        return _members(part.kinds)
    return _combinations(part.flags) if part.flags is not None else {}


@cache
def _members(kind: type[IntEnum]) -> Mapping[int, int]:
    return {int(member): member for member in kind}


@cache
def _combinations(kind: type[IntFlag]) -> Mapping[int, int]:
    numbers = [0]
    for member in kind:
        numbers += [number | int(member) for number in numbers]
    return {number: kind(number) for number in numbers}
