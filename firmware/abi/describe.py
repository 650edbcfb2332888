"""Records for people: a line or a table of every field, from typed values or from any bytes.

Nothing here raises for bytes that break the contract: they are described as far as they go, with
what is wrong. Addresses and sizes print as hex in groups of four.
"""

from collections.abc import Sequence
from enum import IntEnum, IntFlag
from typing import Final, NamedTuple

from firmware.abi._codec import part_problem, read_part
from firmware.abi._malformed import Malformed
from firmware.abi._record import Buffer, Field, Record
from firmware.abi._word import Word
from firmware.abi.control import CONTROL_COMMANDS, ControlCommand, ControlOpcode, decode_control
from firmware.abi.faults import FaultRecord
from firmware.abi.ipc import IpcHandle, check_word
from firmware.abi.registers import REGISTERS
from firmware.abi.replies import Mapped, Reply, decode_reply
from firmware.abi.work import WORK_COMMANDS, WorkCommand, decode_work

_LINE: Final = 16
_DONE: Final[dict[int, str]] = {
    ControlOpcode.UNMAP: "Unmapped",
    ControlOpcode.UNMAP_LIST: "Unmapped",
    ControlOpcode.PROTECT: "Protected",
    ControlOpcode.PROTECT_LIST: "Protected",
}
"""What replies are called that share `Mapped`, by what was done."""
_PLAIN_BELOW: Final = 10
"""Smaller numbers read the same in both bases."""


class Row(NamedTuple):
    """One field of a described record."""

    offset: int
    data: bytes
    """The field's bytes, fewer than it has where the record is cut off."""
    name: str
    value: str
    """What the number means: a name, named bits, hex and decimal."""
    wrong: bool = False
    """Whether the field breaks the contract."""
    fixed: bool = False
    """Whether it has one allowed value, so that the record's name says it already."""


class Description(NamedTuple):
    """A record for people: `line` is one line, `str()` the table of all fields."""

    title: str
    rows: tuple[Row, ...]
    problem: Malformed | None = None
    """The first thing wrong, as decoding reports it."""
    note: str = ""

    @property
    def line(self) -> str:
        """The record in one line: its values, or what is wrong with it."""
        if self.problem is not None:
            return f"malformed {self.title}: {self.problem}"
        values = [f"{row.name}={row.value}" for row in self.rows if row.value and not row.fixed]
        return " ".join([self.title, *values]) + (f" ({self.note})" if self.note else "")

    def __str__(self) -> str:
        head = f"malformed {self.title}: {self.problem}" if self.problem else self.title
        lines = [f"{head} ({self.note})" if self.note else head]
        width = max((len(row.name) for row in self.rows), default=0)
        for row in self.rows:
            mark = "!" if row.wrong else " "
            for number, piece in enumerate(_pieces(row.data)):
                at = row.offset + number * _LINE
                text = f"{row.name:<{width}}  {row.value}" if number == 0 else ""
                lines.append(f"{mark} {at:04x}  {piece.hex(' '):<{_LINE * 3 - 1}}  {text}".rstrip())
        return "\n".join(lines)


def _pieces(data: bytes) -> list[bytes]:
    return [data[at : at + _LINE] for at in range(0, len(data), _LINE)] or [b""]


def describe(value: Record | Malformed) -> Description:
    """Describe a typed record, or the answer to bytes that are none."""
    if isinstance(value, Malformed):
        return Description(value.record, (), value)
    try:
        data = value.pack()
    except (TypeError, ValueError) as error:
        return Description(type(value).__name__, (), note=str(error))
    return describe_as(type(value), data)


def describe_as(record: type[Record], data: Buffer) -> Description:
    """Describe bytes as one kind of record, whatever they are."""
    decoded = record.unpack(data)
    problem = decoded if isinstance(decoded, Malformed) else None
    return Description(_title(decoded, record), _rows(record.PARTS, bytes(data), problem), problem)


def describe_control(data: Buffer) -> Description:
    """Describe an entry of the control ring."""
    record = CONTROL_COMMANDS.get(_opcode_in(data))
    return _entry(record, ControlCommand, decode_control(data), bytes(data))


def describe_work(data: Buffer) -> Description:
    """Describe an entry of a work ring."""
    record = WORK_COMMANDS.get(_opcode_in(data))
    return _entry(record, WorkCommand, decode_work(data), bytes(data))


def describe_reply(data: Buffer) -> Description:
    """Describe an entry of the reply ring."""
    decoded = decode_reply(data)
    record = _reply_named(decoded.record) if isinstance(decoded, Malformed) else type(decoded)
    return _entry(record, Reply, decoded, bytes(data))


def describe_fault(data: Buffer) -> Description:
    """Describe an entry of the fault ring."""
    return describe_as(FaultRecord, data)


def describe_handle(data: Buffer) -> Description:
    """Describe an IPC handle, and whether its check word agrees."""
    described = describe_as(IpcHandle, data)
    if len(data) < IpcHandle.SIZE:
        return described
    found, expected = int.from_bytes(bytes(data[60:64]), "little"), check_word(bytes(data[:64]))
    if found == expected:
        return described._replace(note="check word is right")
    return described._replace(note=f"check word {found:#010x}, expected {expected:#010x}")


def describe_registers(page: Buffer) -> Description:
    """Describe a register page."""
    data = bytes(page)
    rows: list[Row] = []
    for register in REGISTERS:
        piece = data[register.offset : register.offset + register.scalar.size]
        number = int.from_bytes(piece, "little")
        text = _shown(number, register.word) if len(piece) == register.scalar.size else ""
        rows.append(Row(register.offset, piece, register.name, text))
    return Description("registers", tuple(rows))


def hexdump(data: Buffer, start: int = 0) -> str:
    """Return the bytes in lines of sixteen, with offsets from `start` on and printable text."""
    lines: list[str] = []
    for number, piece in enumerate(_pieces(bytes(data))):
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in piece)
        lines.append(f"{start + number * _LINE:08x}  {piece.hex(' '):<{_LINE * 3 - 1}}  |{text}|")
    return "\n".join(lines)


def _opcode_in(data: Buffer) -> int:
    """Return the opcode of a ring entry; no opcode at all where there are too few bytes."""
    return int.from_bytes(bytes(data[:2]), "little") if len(data) >= 2 else -1


def _reply_named(name: str) -> type[Reply] | None:
    return next((record for record in Reply.__subclasses__() if record.__name__ == name), None)


def _entry(
    record: type[Record] | None, header: type[Record], decoded: Record | Malformed, data: bytes
) -> Description:
    """Describe a ring entry; of one without a known record the header alone."""
    problem = decoded if isinstance(decoded, Malformed) else None
    title = _title(decoded, record or header)
    fields = header.FIELDS if record is None else record.PARTS
    return Description(title, _rows(fields, data, problem), problem)


def _title(decoded: Record | Malformed, record: type[Record]) -> str:
    """Return what a record is called: its kind, or for `Mapped` what was done."""
    if isinstance(decoded, Mapped):
        return _DONE.get(decoded.opcode, record.__name__)
    return record.__name__


def _rows(parts: Sequence[Field], data: bytes, problem: Malformed | None) -> tuple[Row, ...]:
    rows = [_row(part, data, problem) for part in parts]
    end = parts[-1].end if parts else 0
    if len(data) > end:
        rows.append(Row(end, data[end:], "(more bytes)", ""))
    return tuple(rows)


def _row(part: Field, data: bytes, problem: Malformed | None) -> Row:
    piece = data[part.offset : part.end]
    if len(piece) < part.size:
        return Row(part.offset, piece, part.name, "(cut off)", wrong=True)
    value = read_part(part, data)
    wrong = part_problem("", part, value) is not None
    if problem is not None and problem.field == part.name:
        wrong = True
    if not isinstance(value, bytes):
        text = _shown(value, part.kinds or part.flags or part.word or part.shown, part)
    elif part.reserved:
        text = "not zero" if wrong else ""
    else:
        text = _bytes_text(value)
    return Row(part.offset, piece, part.name, text, wrong, part.constant is not None)


def _shown(value: int, kind: type[int] | None, part: Field | None = None) -> str:
    """Return a number as its kind names it."""
    if part is not None and isinstance(part.constant, IntEnum) and value == part.constant:
        return part.constant.name
    if kind is None:
        return number_text(value)
    if issubclass(kind, IntEnum):
        names = {int(member): member.name for member in kind}
        return names.get(value, f"{number_text(value)} (no {kind.__name__})")
    if issubclass(kind, IntFlag):
        return flags_text(kind, value)
    return kind(value).describe() if issubclass(kind, Word) else number_text(value)


def flags_text(kind: type[IntFlag], value: int) -> str:
    """Return the names of the bits that are set, and the rest as a number."""
    names = [str(member.name) for member in kind if value & int(member)]
    rest = value & ~sum(int(member) for member in kind)
    return "|".join(names + ([f"{rest:#_x}"] if rest else [])) or "none"


def number_text(value: int) -> str:
    """Return a number as hex in groups of four, small ones also as decimal."""
    if abs(value) < _PLAIN_BELOW:
        return str(value)
    return f"{value:#_x} ({value})" if value < 1 << 32 else f"{value:#_x}"


def _bytes_text(value: bytes) -> str:
    """Return printable text as text (padding cut off), other bytes as hex."""
    text = value.rstrip(b"\0")
    if text and all(0x20 <= byte < 0x7F for byte in text):
        return repr(text.decode("ascii"))
    return value.hex() if text else "zero"
