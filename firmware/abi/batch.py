"""Many records at once: numpy types, validation and building of whole arrays of records.

The only module of the contract that needs numpy, so import it only where numpy is at hand. From
about 24 records on it is faster than the compiled codec. Arrays that `decode_many` returns are
views: of bytes that a peer can change take a copy first, else what was validated may differ from
what is used.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from firmware.abi._malformed import Malformed
from firmware.abi._record import Buffer, Field, Record

Rows: TypeAlias = npt.NDArray[np.void]
"""Records of one kind as a structured array; fields are columns: `rows["va"]`."""
Mask: TypeAlias = npt.NDArray[np.bool_]
"""One bool a record."""
Column: TypeAlias = npt.ArrayLike | bytes | Sequence[bytes]
"""Values of one field: one for all rows, or one a row."""

_WORD: Final = np.dtype("<u8")
"""Records are whole numbers of these, and no field of a number crosses from one to the next."""
_OPCODE_MASK: Final = np.uint64(0xFFFF)


@cache
def dtype_of(record: type[Record]) -> np.dtype[np.void]:
    """Return the structured type of `record`, with its reserved gaps (`reserved_XX`) as columns.

    Bytes between columns would be lost when numpy copies rows, and with them what is wrong there.
    """
    return np.dtype([(part.name, part.scalar.numpy_code) for part in record.PARTS])


def decode_many(
    record: type[Record], buffer: Buffer, count: int | None = None, offset: int = 0
) -> Rows:
    """Return `count` records from `offset` on, as many as there are by default, without a copy.

    Nothing is validated: see `valid_many`.

    Raises:
        ValueError: fewer bytes than that.
    """
    room = max(0, memoryview(buffer).nbytes - offset)
    number = room // record.SIZE if count is None else count
    if offset < 0 or number < 0 or number * record.SIZE > room:
        raise ValueError(
            f"{number} {record.__name__} at {offset:#x} need more than {room:#x} bytes"
        )
    if number == 0:
        return np.empty(0, dtype_of(record))
    return np.frombuffer(buffer, dtype_of(record), number, offset)


def valid_many(record: type[Record], rows: Rows) -> Mask:
    """Return which rows obey the contract: exactly those that `record.unpack` decodes."""
    words = np.ascontiguousarray(rows).view(_WORD).reshape(-1, record.SIZE // _WORD.itemsize)
    return _check_of(record).valid(words)


def valid_entries(table: Mapping[int, type[Record]], entries: Buffer, entry_size: int) -> Mask:
    """Return which entries of a ring decode as the record of their opcode.

    Args:
        table: records by opcode: `WORK_COMMANDS` or `CONTROL_COMMANDS`.
        entries: whole entries.
        entry_size: size in bytes of an entry, which each record of `table` has.

    Raises:
        ValueError: bytes that are no whole number of entries.
    """
    count, rest = divmod(memoryview(entries).nbytes, entry_size)
    if rest:
        raise ValueError(f"{rest:#x} bytes behind {count} entries of {entry_size:#x} bytes")
    if not count:
        return np.empty(0, np.bool_)
    words = np.frombuffer(entries, _WORD).reshape(count, -1)
    opcodes = words[:, 0] & _OPCODE_MASK
    valid = np.zeros(count, np.bool_)
    for opcode in np.unique(opcodes).tolist():
        record = table.get(opcode)
        if record is not None:
            which = np.flatnonzero(opcodes == opcode)
            valid[which] = _check_of(record).valid(words[which])
    return valid


class Problem(NamedTuple):
    """What is wrong with one of many records."""

    row: int
    malformed: Malformed


def problems_of(record: type[Record], rows: Rows, valid: Mask) -> Iterator[Problem]:
    """Yield what is wrong with each row that is not valid, as the compiled codec says it."""
    for index in np.flatnonzero(~valid).tolist():
        decoded = record.unpack(rows[index].tobytes())
        if isinstance(decoded, Malformed):
            yield Problem(index, decoded)


def encode_many(record: type[Record], count: int, /, **columns: Column) -> Rows:
    """Return `count` records, writable, with constants and reserved bytes filled in.

    Every declared field has to be given; members of enumerations and flags are not validated.

    Raises:
        TypeError: a field that is missing or that the record does not have.
        ValueError: a value that does not fit its wire type, or a column of another length.
    """
    given = {field.name: field for field in record.FIELDS if field.constant is None}
    if given.keys() != columns.keys():
        different = ", ".join(sorted(given.keys() ^ columns.keys()))
        raise TypeError(f"{record.__name__}: missing or unknown fields: {different}")
    rows = np.zeros(count, dtype_of(record))
    for field in record.FIELDS:
        if field.constant is not None:
            rows[field.name] = field.constant
        elif field.is_bytes:
            _fill_bytes(rows, record, field, columns[field.name])
        else:
            _fill_numbers(rows, record, field, columns[field.name])
    return rows


def _fill_numbers(rows: Rows, record: type[Record], field: Field, column: Column) -> None:
    """Store a column of whole numbers that fit (numpy itself would wrap them around)."""
    values = np.asarray(column)
    limits = np.iinfo(field.scalar.numpy_code)
    fits = values.size == 0 or (
        values.dtype.kind in "iub"
        and int(values.min()) >= limits.min
        and int(values.max()) <= limits.max
    )
    if not fits:
        raise ValueError(
            f"{record.__name__}.{field.name}: expected whole numbers from {limits.min} to"
            f" {limits.max:#x}"
        )
    rows[field.name] = values


def _fill_bytes(rows: Rows, record: type[Record], field: Field, column: Column) -> None:
    """Store a column of byte strings, padded with zeros."""
    if isinstance(column, np.ndarray):
        if column.dtype != np.dtype(field.scalar.numpy_code):
            raise ValueError(f"{record.__name__}.{field.name}: {column.dtype}, expected bytes")
        rows[field.name] = column
        return
    pieces = [column] if isinstance(column, bytes) else column
    padded = bytearray()
    for piece in pieces if isinstance(pieces, Sequence) else ():
        if not isinstance(piece, bytes) or len(piece) > field.size:
            raise ValueError(
                f"{record.__name__}.{field.name}: {piece!r}, expected at most {field.size} bytes"
            )
        padded += piece.ljust(field.size, b"\0")
    rows[field.name] = np.frombuffer(bytes(padded), field.scalar.numpy_code)


Words: TypeAlias = npt.NDArray[np.uint64]


class _Choice(NamedTuple):
    """Bits of a record that hold a member of an enumeration."""

    column: int
    shift: np.uint64
    mask: np.uint64
    members: Words

    def valid(self, words: Words) -> Mask:
        """Return which records hold a member."""
        values = (words[:, self.column] >> self.shift) & self.mask
        last = len(self.members) - 1
        if int(self.members[-1]) == last:  # numbered from zero without a gap, as most are
            return np.asarray(values <= np.uint64(last))
        return np.isin(values, self.members)


class _Check(NamedTuple):
    """The rules of one record, compiled: bits with one allowed value, then the choices."""

    columns: npt.NDArray[np.intp]
    """Words of the record that have such bits."""
    fixed: Words
    """Those bits."""
    wanted: Words
    """Their value."""
    choices: tuple[_Choice, ...]

    def valid(self, words: Words) -> Mask:
        """Return which records, one a line, obey the rules."""
        good: Mask = ((words[:, self.columns] & self.fixed) == self.wanted).all(axis=1)
        for choice in self.choices:
            good &= choice.valid(words)
        return good


@cache
def _check_of(record: type[Record]) -> _Check:
    fixed, wanted = bytearray(record.SIZE), bytearray(record.SIZE)
    choices: list[_Choice] = []
    for part in record.PARTS:
        bits, value = _fixed_bits(part)
        fixed[part.offset : part.end] = bits.to_bytes(part.size, "little")
        wanted[part.offset : part.end] = value.to_bytes(part.size, "little")
        choices += _choices(part)
    masks = np.frombuffer(bytes(fixed), _WORD)
    columns = np.flatnonzero(masks)
    values = np.frombuffer(bytes(wanted), _WORD)
    return _Check(columns, masks[columns], values[columns], tuple(choices))


def _fixed_bits(part: Field) -> tuple[int, int]:
    """Return the bits of a field that have one allowed value, and that value."""
    everything = (1 << (part.size * 8)) - 1
    if isinstance(part.constant, bytes):
        return everything, int.from_bytes(part.constant, "little")
    if part.constant is not None:
        return everything, int(part.constant)
    if part.flags is not None and not part.extensible:
        return everything & ~part.flag_mask, 0
    if part.word is not None:
        return everything & ~part.word.USED, 0
    return 0, 0


def _choices(part: Field) -> Iterator[_Choice]:
    if part.kinds is not None:
        members = frozenset(int(member) for member in part.kinds)
        yield _choice(part, 0, part.size * 8, members)
    if part.word is not None:
        for bits, members in part.word.CHOICES:
            yield _choice(part, bits.low, bits.width, members)


def _choice(part: Field, low: int, width: int, members: frozenset[int]) -> _Choice:
    column, byte = divmod(part.offset, _WORD.itemsize)
    numbers = np.array(sorted(members), np.uint64)
    return _Choice(column, np.uint64(byte * 8 + low), np.uint64((1 << width) - 1), numbers)
