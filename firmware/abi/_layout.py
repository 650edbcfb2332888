"""Laying out a record: offsets of its fields, the reserved gaps, and the rules of a declaration.

Every rule that a declaration breaks is a TypeError when the class is made, which says where.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum

from firmware.abi._wire import Field, raw


def lay_out(
    record: str, inherited: tuple[Field, ...], own: Mapping[str, Field]
) -> tuple[Field, ...]:
    """Return `inherited` and `own` fields at their offsets.

    Raises:
        TypeError: a field that overlaps another, is not naturally aligned or whose values do not
            fit its wire type.
    """
    fields = list(inherited)
    for name, declared in own.items():
        end = fields[-1].end if fields else 0
        offset = end if declared.at is None else declared.at
        field = declared.placed(name, offset)
        if offset < end:
            raise TypeError(f"{record}.{name} at {offset:#x} overlaps {fields[-1].name}")
        if offset % field.alignment:
            raise TypeError(f"{record}.{name} at {offset:#x} is not aligned to {field.alignment}")
        _check_values(record, field)
        fields.append(field)
    return tuple(fields)


def with_opcode(record: str, fields: Sequence[Field], opcode: IntEnum) -> tuple[Field, ...]:
    """Return the fields of a family's header with the opcode of one of its records.

    Raises:
        TypeError: the header declares no opcode, or this one does not fit.
    """
    if not any(_is_opcode(field) for field in fields):
        raise TypeError(f"{record} has opcode {opcode!r}, but its header declares none")
    changed = tuple(field.fixed(opcode) if _is_opcode(field) else field for field in fields)
    for field in changed:
        _check_values(record, field)
    return changed


def needs_opcode(fields: Sequence[Field]) -> bool:
    """Return whether these header fields leave the opcode to each record."""
    return any(_is_opcode(field) for field in fields)


def _is_opcode(field: Field) -> bool:
    return field.name == "opcode" and field.constant is not None


def with_gaps(record: str, fields: tuple[Field, ...], size: int) -> tuple[Field, ...]:
    """Return the fields with a reserved byte string in every gap and at the end.

    Raises:
        TypeError: `size` is too small or no multiple of 8, so that records behind each other would
            lose their alignment.
    """
    end = fields[-1].end if fields else 0
    if end > size:
        raise TypeError(f"{record} has {end:#x} bytes, declared {size:#x}")
    if size % 8:
        raise TypeError(f"{record} has {size:#x} bytes, no multiple of 8")
    parts: list[Field] = []
    position = 0
    for field in fields:
        if field.offset > position:
            parts.append(_reserved(position, field.offset))
        parts.append(field)
        position = field.end
    if position < size:
        parts.append(_reserved(position, size))
    return tuple(parts)


def _reserved(start: int, end: int) -> Field:
    gap = Field(
        scalar=raw(end - start),
        doc="Reserved, must be zero.",
        constant=bytes(end - start),
        reserved=True,
    )
    return gap.placed(f"reserved_{start:02x}", start)


def _check_values(record: str, field: Field) -> None:
    """Raise TypeError when a value that the declaration allows does not fit the wire type."""
    if field.word is not None and field.size * 8 != field.word.WIDTH:
        raise TypeError(
            f"{record}.{field.name} has {field.size * 8} bits, {field.word.__name__} has"
            f" {field.word.WIDTH}"
        )
    if isinstance(field.constant, bytes):
        if field.size != len(field.constant):
            raise TypeError(f"{record}.{field.name}: {field.constant!r} has not {field.size} bytes")
        return
    numbers = [int(member) for member in field.kinds or field.flags or ()]
    if field.constant is not None:
        numbers.append(int(field.constant))
    for number in numbers:
        if number < 0 or number >> (field.size * 8):
            raise TypeError(
                f"{record}.{field.name}: {number:#x} does not fit in {field.size} byte(s)"
            )
