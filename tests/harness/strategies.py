"""Strategies for every record and word of the contract, derived from the declarations."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from hypothesis import settings
from hypothesis import strategies as st

from firmware.abi import Record, Word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import SearchStrategy

    from firmware.abi import Field

PER_RECORD: Final = settings(max_examples=max(5, settings().max_examples // 8))
"""For tests that run once for every record: together they see every rule many times over."""

RecordT = TypeVar("RecordT", bound=Record)
WordT = TypeVar("WordT", bound=Word)


def unsigned(bits: int) -> SearchStrategy[int]:
    """Return numbers of `bits` bits, the edges more often than chance would."""
    last = (1 << bits) - 1
    return st.one_of(st.sampled_from([0, 1, last // 2, last // 2 + 1, last]), st.integers(0, last))


def field_values(field: Field) -> SearchStrategy[Any]:
    """Return the values that the contract allows in a field of a record."""
    if field.is_bytes:
        return st.binary(min_size=field.size, max_size=field.size)
    if field.kinds is not None:
        return st.sampled_from(sorted(field.kinds))
    if field.flags is not None:
        kind = field.flags
        members = st.lists(st.sampled_from(sorted(kind)), unique=True)
        return members.map(lambda some: kind(sum(int(member) for member in some)))
    if field.word is not None:
        return words(field.word)
    if field.scalar.struct_code.islower():
        half = 1 << (field.size * 8 - 1)
        return unsigned(field.size * 8).map(lambda number: number - half)
    return unsigned(field.size * 8)


def records(record: type[RecordT], **fixed: object) -> SearchStrategy[RecordT]:
    """Return valid values of `record`; `fixed` are fields with one value of the caller's."""
    values = {
        name: st.just(fixed[name]) if name in fixed else strategy
        for name, strategy in _fields(record).items()
    }
    return st.fixed_dictionaries(values).map(lambda drawn: record(**drawn))


@cache
def _fields(record: type[Record]) -> Mapping[str, SearchStrategy[Any]]:
    return {f.name: field_values(f) for f in record.FIELDS if f.constant is None}


def any_record(table: Mapping[Any, type[RecordT]]) -> SearchStrategy[RecordT]:
    """Return valid values of any record of a table: `RECORDS`, `WORK_COMMANDS`, ..."""
    return st.sampled_from(list(table.values())).flatmap(records)


def words(word: type[WordT]) -> SearchStrategy[WordT]:
    """Return valid values of `word`: declared bits alone, choices that exist."""
    values: dict[str, SearchStrategy[int]] = {
        bits.name: st.sampled_from(sorted(bits.members)) if bits.members else unsigned(bits.width)
        for bits in word.FIELDS
    }
    return st.fixed_dictionaries(values).map(lambda drawn: word.build(**drawn))


def damaged(record: type[Record], *, cut_off: bool = True) -> SearchStrategy[bytes]:
    """Return the bytes of a valid record with a few bytes changed, and perhaps cut off."""
    changes = st.lists(
        st.tuples(st.integers(0, record.SIZE - 1), st.integers(0, 255)), min_size=1, max_size=4
    )
    whole = st.just(record.SIZE)
    ends = st.one_of(whole, st.integers(0, record.SIZE)) if cut_off else whole
    return st.builds(_damage, records(record), changes, ends)


def _damage(record: Record, changes: list[tuple[int, int]], end: int) -> bytes:
    data = bytearray(record.pack())
    for at, byte in changes:
        data[at] = byte
    return bytes(data[:end])


@cache
def raw_bytes(record: type[Record]) -> SearchStrategy[bytes]:
    """Return anything that may stand where `record` is expected: noise, damage, valid bytes."""
    noise = st.binary(max_size=record.SIZE + 8)
    valid = cast("SearchStrategy[Record]", records(record)).map(lambda value: value.pack())
    return st.one_of(noise, damaged(record), valid)
