"""Golden bytes: a text file that says, field by field, which bytes each value gives.

The file is the second copy of the contract, and the only one that is not generated. A block is

    work.Copy
      00  01 00                    opcode
      04  05 06 07 08              tag = 0x8070605
      20  00 x 32                  reserved_20

and `block_of` writes one for a new record, to be looked at and pasted. Of words, `-` stands for the
bytes of a group of bits, whose lowest bit is told; the last line has those of the whole word.
"""

from __future__ import annotations

from enum import IntFlag
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from firmware.abi import Record, Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from firmware.abi import Field

PATH: Final = Path(__file__).parents[1] / "contract" / "golden.txt"


class Line(NamedTuple):
    """One field of a golden record."""

    offset: int
    data: bytes
    name: str
    value: int | None
    """The number, for fields that are given when the record is built and are no byte strings."""


def read_golden(path: Path = PATH) -> Mapping[str, tuple[Line, ...]]:
    """Return the lines of each block by its name."""
    blocks: dict[str, list[Line]] = {}
    lines: list[Line] = []
    for text in path.read_text(encoding="ascii").splitlines():
        if text.startswith("#") or not text.strip():
            continue
        if text.startswith("  "):
            lines.append(_line(text))
        else:
            lines = blocks.setdefault(text, [])
    return {name: tuple(block) for name, block in blocks.items()}


def _line(text: str) -> Line:
    at, rest = text.strip().split("  ", maxsplit=1)
    digits, _, meaning = rest.strip().partition("  ")
    name, _, value = meaning.strip().partition(" = ")
    zeros = digits.removeprefix("00 x ")
    data = bytes.fromhex(digits.replace("-", "")) if zeros == digits else bytes(int(zeros))
    return Line(int(at, 16), data, name, int(value, 16) if value else None)


def data_of(lines: tuple[Line, ...]) -> bytes:
    """Return the bytes of a block."""
    return b"".join(line.data for line in lines)


def block_of(name: str, kind: type[Record | Word]) -> str:
    """Return the block for a new record or word."""
    lines = word_lines(kind) if issubclass(kind, Word) else record_lines(kind)
    return "\n".join([name, *(_text(line) for line in lines)])


def _text(line: Line) -> str:
    run = len(line.data) > 8 and not any(line.data)
    digits = f"00 x {len(line.data)}" if run else line.data.hex(" ") or "-"
    value = "" if line.value is None else f" = {line.value:#x}"
    return f"  {line.offset:02x}  {digits:<23}  {line.name}{value}"


def record_lines(record: type[Record]) -> Iterator[Line]:
    """Yield a line for each part of a record, built by construct from telling values."""
    values = {part.name: _telling(part) for part in record.PARTS if part.constant is None}
    data = record.LAYOUT.build(values)
    for part in record.PARTS:
        value = values.get(part.name)
        number = value if isinstance(value, int) else None
        yield Line(part.offset, data[part.offset : part.end], part.name, number)


def _telling(part: Field) -> int | bytes:
    """Return the last choice, all flags, or bytes that count up from their offset."""
    counted = bytes((part.offset + index + 1) & 0xFF for index in range(part.size))
    if part.is_bytes:
        return counted
    if part.kinds is not None:
        return max(int(member) for member in part.kinds)
    if part.flags is not None:
        return part.flag_mask
    if part.word is not None:
        return sum(line.value << line.offset for line in word_lines(part.word) if line.value)
    return int.from_bytes(counted, "little", signed=part.scalar.struct_code.islower())


def word_lines(word: type[Word]) -> Iterator[Line]:
    """Yield a line for each group of bits (offset: lowest bit), then one with the word's bytes."""
    number = 0
    for index, bits in enumerate(word.FIELDS):
        value = max(bits.members) if bits.members else _pattern(index, bits.width)
        number |= value << bits.low
        yield Line(bits.low, b"", bits.name, value)
    yield Line(0, number.to_bytes(word.WIDTH // 8, "little"), "bytes", None)


def _pattern(index: int, width: int) -> int:
    """Return a number with both end bits set, another one for each index."""
    return (0xB5A3_C96E_15A3_C96F >> index) & ((1 << width) - 1) | 1 | 1 << (width - 1)


def typed(field: Field, value: int) -> int:
    """Return a golden number as the type that the field has in its record."""
    kind = field.value_type
    return kind(value) if issubclass(kind, int | IntFlag) else value
