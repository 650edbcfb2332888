"""Tables of the reference pages: every one is drawn from a declaration."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, IntEnum, IntFlag
from typing import Final

from firmware.abi._record import Field, Record
from firmware.abi._source import doc_of_class, doc_of_member
from firmware.abi._word import Bits, Word
from firmware.abi.catalogue import CONSTANTS
from firmware.abi.registers import Register

_SHORT: Final = {"uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64"}

Links = Mapping[type[object], str]
"""Where the table of an enumeration, a flag word or a word stands."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def anchor(kind: type[object]) -> str:
    """Return the name under which a heading can be linked."""
    return kind.__name__.lower()


def record_section(record: type[Record], links: Links) -> str:
    """Return heading, meaning and field table of one record."""
    opcode = record.FIELDS[0].constant if record.FIELDS else None
    number = f", opcode {int(opcode):#04x} `{opcode.name}`" if isinstance(opcode, IntEnum) else ""
    rows = [_field_row(part, links) for part in record.PARTS]
    return "\n\n".join(
        [
            f"### {record.__name__}",
            f"{record.SIZE} bytes{number}. {doc_of_class(record)}",
            table(("Offset", "Size", "Type", "Name", "Meaning"), rows),
        ]
    )


def header_section(header: type[Record], links: Links) -> str:
    """Return the fields that every record of a family begins with."""
    rows = [_field_row(field, links) for field in header.FIELDS]
    return table(("Offset", "Size", "Type", "Name", "Meaning"), rows)


def _field_row(part: Field, links: Links) -> tuple[str, ...]:
    if part.reserved:
        return (f"{part.offset:#04x}", str(part.size), "", "*reserved*", "Must be zero.")
    return (
        f"{part.offset:#04x}",
        str(part.size),
        _type_text(part, links),
        f"`{part.name}`",
        part.doc + _value_text(part),
    )


def _type_text(part: Field, links: Links) -> str:
    if part.is_bytes:
        return f"bytes[{part.size}]"
    short = _SHORT.get(part.scalar.c_type, "i32")
    kind = part.kinds or part.flags or part.word or part.shown
    return f"{short}, {link(kind, links)}" if kind else short


def _value_text(part: Field) -> str:
    if isinstance(part.constant, IntEnum):
        return f" `{part.constant.name}`, {int(part.constant):#x}."
    if part.constant:
        return f" Always {int(part.constant):#x}."
    return " Unknown bits are ignored." if part.extensible else ""


def link(kind: type[object], links: Links) -> str:
    """Return the name of a type, as a link where its table is known."""
    target = links.get(kind)
    return f"[{kind.__name__}]({target})" if target else f"`{kind.__name__}`"


def enum_section(kind: type[IntEnum]) -> str:
    """Return heading and table of an enumeration."""
    rows = [(str(member.value), f"`{member.name}`", doc_of_member(member)) for member in kind]
    return _section(kind, table(("Value", "Name", "Meaning"), rows))


def flags_section(kind: type[IntFlag]) -> str:
    """Return heading and table of a flag word."""
    rows = [
        (
            str(int(member).bit_length() - 1),
            f"{int(member):#x}",
            f"`{member.name}`",
            doc_of_member(member),
        )
        for member in kind
    ]
    return _section(kind, table(("Bit", "Mask", "Name", "Meaning"), rows))


def word_section(word: type[Word], links: Links) -> str:
    """Return heading and bit table of a word."""
    rows: list[tuple[str, ...]] = []
    position = word.WIDTH
    for bits in reversed(word.FIELDS):
        if bits.high + 1 < position:
            rows.append((bit_range(position - 1, bits.high + 1), "*reserved*", "", "Must be zero."))
        rows.append(
            (bit_range(bits.high, bits.low), f"`{bits.name}`", _kind_text(bits, links), bits.doc)
        )
        position = bits.low
    if position:
        rows.append((bit_range(position - 1, 0), "*reserved*", "", "Must be zero."))
    body = table(("Bits", "Name", "Type", "Meaning"), rows)
    return _section(word, f"{word.WIDTH} bits.\n\n{body}")


def bit_range(high: int, low: int) -> str:
    """Return the usual way to write a group of bits."""
    return str(low) if high == low else f"{high}:{low}"


def _kind_text(bits: Bits[int], links: Links) -> str:
    if bits.kind is bool:
        return "flag"
    return link(bits.kind, links) if bits.members else "number"


def _section(kind: type[Enum] | type[Word], body: str) -> str:
    return f"### {kind.__name__}\n\n{doc_of_class(kind)}\n\n{body}"


def register_table(registers: Iterable[Register], links: Links) -> str:
    """Return the table of a register map."""
    rows = [
        (
            f"{register.offset:#05x}",
            str(register.scalar.size),
            register.access.name,
            f"{register.reset:#x}",
            f"`{register.name}`",
            register.doc + (f" Bits: {link(register.word, links)}." if register.word else ""),
        )
        for register in registers
    ]
    return table(("Offset", "Size", "Access", "Reset", "Name", "Meaning"), rows)


def numbers_table(*names: str) -> str:
    """Return the table of constants of the contract: those named, or all."""
    rows = [
        (f"`{number.name}`", number_text(number.value), number.doc)
        for number in CONSTANTS
        if not names or number.name in names
    ]
    return table(("Name", "Value", "Meaning"), rows)


def number_text(value: int) -> str:
    """Return a number in the base in which people know it."""
    return str(value) if value < 4096 else f"{value:#_x}"
