"""Reading a stream of records: what an emulator tells of its programs, live or from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from firmware.abi import Malformed
from firmware.abi.trace import TRACE_MAGIC, TRACE_VERSION, TraceHeader, TraceKind, TraceRecord
from hostdriver.channel.recorder import fingerprint

if TYPE_CHECKING:
    from collections.abc import Generator

MOST_PAYLOAD: Final = 1 << 26
"""Bytes of one payload; only a damaged size is larger."""


class StreamError(Exception):
    """A stream that is none, or that breaks off; the text says where, expected and found."""


class Entry(NamedTuple):
    """One record with its payload."""

    offset: int
    """Byte of the stream at which it begins."""
    record: TraceRecord
    payload: bytes


def read_header(stream: BinaryIO) -> TraceHeader:
    """Take the header off a stream.

    Raises:
        StreamError: it is no trace, or one that this version cannot read.
    """
    data = stream.read(TraceHeader.SIZE)
    magic = TRACE_MAGIC.to_bytes(8, "little")
    if data[:8] != magic[: len(data)] or not data:
        raise StreamError(
            f"it is no trace: its first bytes are {data[:8].hex() or 'missing'},"
            f" expected {magic.hex()}"
        )
    if len(data) < TraceHeader.SIZE:
        raise StreamError(f"it ends at byte {len(data):#x}, inside of its header")
    header = TraceHeader.unpack(data)
    if isinstance(header, Malformed):
        raise StreamError(f"its header is damaged: {header}")
    if header.version != TRACE_VERSION:
        raise StreamError(f"it has version {header.version}, expected {TRACE_VERSION}")
    if header.interface != fingerprint():
        raise StreamError(
            f"another version of emuzero wrote it: its table of functions is"
            f" {header.interface.hex()}, expected {fingerprint().hex()}"
        )
    return header


def read_entries(stream: BinaryIO) -> Generator[Entry]:
    """Yield the records behind the header.

    Raises:
        StreamError: the stream ends in the middle of a record, or what stands there is none.
    """
    offset = TraceHeader.SIZE
    while head := stream.read(TraceRecord.SIZE):
        if len(head) < TraceRecord.SIZE:
            raise _broken_off(offset, len(head), TraceRecord.SIZE)
        record = TraceRecord.unpack(head)
        if isinstance(record, Malformed):
            raise StreamError(f"what stands at byte {offset:#x} is no record: {record}")
        if record.size > MOST_PAYLOAD:
            raise StreamError(
                f"the {TraceKind(record.kind).name} at byte {offset:#x} says that it has"
                f" {record.size:#_x} bytes, expected at most {MOST_PAYLOAD:#_x}"
            )
        payload = stream.read(record.size)
        if len(payload) < record.size:
            raise _broken_off(offset, len(head) + len(payload), len(head) + record.size)
        yield Entry(offset, record, payload)
        offset += len(head) + record.size


def _broken_off(offset: int, found: int, expected: int) -> StreamError:
    return StreamError(
        f"it ends at byte {offset + found:#x}: of the record that begins at byte {offset:#x},"
        f" {expected - found} of {expected} bytes are missing"
    )
