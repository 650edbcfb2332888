"""The compiled codec: straight-line `struct` code generated from a record's layout.

construct is the declaration and the oracle; it is 60 to 100 times slower than `struct`. For every
record two small functions are written out as text and compiled once, at import. They know the
common case alone. Everything unusual, malformed bytes above all, goes to `examine`: plain code that
looks at the bytes that were read (never at the buffer again, whose owner may have changed it).
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from firmware.abi._malformed import Malformed, Reason
from firmware.abi._units import Unit, is_listed, members_of, units_of
from firmware.abi._wire import Field


def compile_codec(record: Any) -> tuple[Callable[..., Any], Callable[..., bytes]]:
    """Return the functions `unpack` and `pack` of `record`."""
    units = units_of(record.PARTS)
    scope = _scope(record, units)
    code = compile(_source(units, record.PARTS), f"<codec of {record.__name__}>", "exec")
    exec(code, scope)  # noqa: S102 - generated from our own declarations
    return scope["unpack"], scope["pack"]


def codec_source(record: Any) -> str:
    """Return the text that is compiled for `record`."""
    return _source(units_of(record.PARTS), record.PARTS)


def _source(units: Sequence[Unit], parts: tuple[Field, ...]) -> str:
    return _unpack_source(units) + "\n\n" + _pack_source(parts)


def _scope(record: Any, units: Sequence[Unit]) -> dict[str, Any]:
    """Return the globals of the generated code."""
    reader = struct.Struct("<" + "".join(unit.code for unit in units))
    writer = struct.Struct("<" + "".join(_writer_code(part) for part in record.PARTS))
    scope: dict[str, Any] = {
        "_record": record,
        "_struct_error": struct.error,
        "_unpack_from": reader.unpack_from,
        "_repack": reader.pack,
        "_pack": writer.pack,
        "_truncated": _truncated,
        "_examine": examine,
        "_unfit": _unfit,
    }
    for index, unit in enumerate(units):
        if isinstance(unit.constant, bytes):
            scope[f"k{index}"] = unit.constant
        elif unit.constant is None and is_listed(unit.last):
            scope[f"k{index}"] = unit.table
        elif unit.last.value_type is not unit.last.scalar.kind:
            scope[f"k{index}"] = unit.last.value_type
    for index, part in enumerate(record.PARTS):
        if isinstance(part.constant, bytes):
            scope[f"c{index}"] = part.constant
    return scope


def _writer_code(part: Field) -> str:
    return f"{part.size}x" if part.reserved else part.scalar.struct_code


def _unpack_source(units: Sequence[Unit]) -> str:
    names = ", ".join(f"v{index}" for index in range(len(units)))
    wrong = [text for index, unit in enumerate(units) if (text := _wrong(index, unit))]
    found = ", ".join(_value(i, unit) for i, unit in enumerate(units) if unit.constant is None)
    examine = f"return _examine(_record, _repack({names}))"
    lines = [
        "def unpack(buffer, offset=0):",
        "    try:",
        f"        {names}, = _unpack_from(buffer, offset)",
        "    except _struct_error:",
        "        return _truncated(_record, buffer, offset)",
    ]
    if wrong:
        lines += [f"    if {' or '.join(wrong)}:", f"        {examine}"]
    if any(unit.constant is None and is_listed(unit.last) for unit in units):
        lines += [
            "    try:",
            f"        return _record({found})",
            "    except KeyError:",
            f"        {examine}",
        ]
    else:
        lines.append(f"    return _record({found})")
    return "\n".join(lines) + "\n"


def _wrong(index: int, unit: Unit) -> str:
    """Return the condition under which the unit needs a closer look, if it is a plain one."""
    part = unit.last
    if unit.constant == 0:
        return f"v{index}"
    if unit.constant is not None:
        return f"v{index} != " + (
            f"k{index}" if isinstance(unit.constant, bytes) else hex(unit.base)
        )
    if part.word is not None:
        return f"k{index}(v{index}).malformed() is not None"
    if part.flags is not None and not part.extensible and not is_listed(part):
        return f"v{index} & {~part.flag_mask}"
    return ""


def _value(index: int, unit: Unit) -> str:
    part = unit.last
    number = f"v{index} & {part.flag_mask}" if part.extensible else f"v{index}"
    if is_listed(part):
        return f"k{index}[{number}]"
    return number if part.value_type is part.scalar.kind else f"k{index}({number})"


def _pack_source(parts: tuple[Field, ...]) -> str:
    lines = ["def pack(self):"]
    values: list[str] = []
    for index, part in enumerate(parts):
        if part.reserved:
            continue
        if part.constant is None:
            values.append(f"self.{part.name}")
        else:
            values.append(f"c{index}" if part.is_bytes else str(int(part.constant)))
        if part.is_bytes and part.constant is None:
            # `struct` would cut a longer string off without a word.
            lines += [
                f"    if len(self.{part.name}) > {part.size}:",
                f"        raise _unfit(self, '{part.name} has more than {part.size} bytes')",
            ]
    lines += [
        "    try:",
        f"        return _pack({', '.join(values)})",
        "    except _struct_error as error:",
        "        raise _unfit(self, error) from error",
    ]
    return "\n".join(lines) + "\n"


def _unfit(record: Any, why: object) -> ValueError:
    return ValueError(f"{type(record).__name__}: {why} in {record!r}")


def _truncated(record: Any, buffer: Any, offset: int) -> Malformed:
    found = max(0, memoryview(buffer).nbytes - offset)
    wanted = f"{record.SIZE:#x} bytes at {offset:#x}"
    return Malformed(record.__name__, "size", Reason.TRUNCATED, 0, found, wanted)


def examine(record: Any, raw: bytes) -> Any:
    """Return what the bytes of one whole record are: the record, or the first thing wrong."""
    values: list[Any] = []
    for part in record.PARTS:
        value = read_part(part, raw)
        wrong = part_problem(record.__name__, part, value)
        if wrong is not None:
            return wrong
        if part.constant is None:
            values.append(_typed(part, value))
    return record(*values)


def _typed(part: Field, value: int | bytes) -> int | bytes:
    kind: Any = part.value_type
    if isinstance(value, bytes) or kind is int:
        return value
    number = value & part.flag_mask if part.extensible else value
    typed: int = kind(number)
    return typed


def read_part(part: Field, raw: bytes) -> int | bytes:
    """Return the raw value of one field of a record's bytes."""
    piece = raw[part.offset : part.end]
    if part.is_bytes:
        return piece
    return int.from_bytes(piece, "little", signed=part.scalar.struct_code.islower())


def part_problem(record: str, part: Field, value: int | bytes) -> Malformed | None:
    """Return what is wrong with the raw value of a field, or None."""
    if isinstance(value, bytes):
        return _bytes_problem(record, part, value)
    if part.constant is not None:
        if value == part.constant:
            return None
        reason, wanted = Reason.CONSTANT, f"{int(part.constant):#x}"
    elif part.kinds is not None:
        if value in members_of(part):
            return None
        reason, wanted = Reason.UNKNOWN_VALUE, f"a member of {part.kinds.__name__}"
    elif part.flags is not None:
        if part.extensible or not value & ~part.flag_mask:
            return None
        reason, wanted = Reason.UNKNOWN_VALUE, f"bits of {part.flag_mask:#x}"
    else:
        inner = None if part.word is None else part.word(value).malformed()
        if inner is None:
            return None
        reason, wanted = inner.reason, f"a {inner.record} ({inner})"
    found = value & ((1 << part.size * 8) - 1)
    return Malformed(record, part.name, reason, part.offset, found, wanted)


def _bytes_problem(record: str, part: Field, value: bytes) -> Malformed | None:
    wanted = part.constant
    if not isinstance(wanted, bytes) or value == wanted:
        return None
    first = next(i for i, (a, b) in enumerate(zip(value, wanted, strict=True)) if a != b)
    found = int.from_bytes(value[first : first + 8], "little")
    reason = Reason.RESERVED if part.reserved else Reason.CONSTANT
    text = "zero" if part.reserved else repr(wanted)
    return Malformed(record, part.name, reason, part.offset, found, text)
