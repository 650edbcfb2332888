"""Traces: what programs called and what came of it, as a stream of records.

A stream is one `TraceHeader` and any number of `TraceRecord`s, each with its payload behind it. The
emulator writes it, to a file or a pipe; whoever reads it needs the same table of functions.
"""

from enum import IntEnum
from typing import Final

from firmware.abi._record import Record, constant, wire
from firmware.abi._wire import U16, U32, U64, raw

TRACE_MAGIC: Final = 0x4341_5254_5A4D_4531
"""The bytes `1EMZTRAC`."""
TRACE_VERSION: Final = 1
"""Changes whenever records or payloads do."""


class TraceKind(IntEnum):
    """What a record tells, and what its payload is."""

    PROGRAM = 1
    """A program began: `what` is its process, the payload its name."""
    CALL = 2
    """A call began: `what` is its function, the payload its arguments as they stood in the slot."""
    RETURN = 3
    """A call ended: `what` is its result, `more` the size of the error description, which stands
    behind the outputs in the payload."""
    LOCAL = 4
    """A call that the library answered: `what` is its function, the payload its note."""
    CONTROL = 5
    """A command for the firmware of device `what`: the payload is the command."""
    REPLY = 6
    """What device `what` replied: the payload is the reply."""
    WORK = 7
    """Commands for queue `more` of device `what`: the payload is one after the other."""
    FAULT = 8
    """A fault that a queue of device `what` met: the payload is the fault record."""
    END = 9
    """A program ended: the payload is its account, a JSON object."""


class TraceHeader(Record, size=64):
    """Begin of a stream."""

    magic: int = constant(U64, TRACE_MAGIC, "The bytes `1EMZTRAC`.")
    version: int = wire(U32, "`TRACE_VERSION` of whoever wrote it.")
    abi_major: int = wire(U16, "ABI version of the commands in it.")
    abi_minor: int = wire(U16, "The same.")
    began: int = wire(U64, "CLOCK_MONOTONIC when it began, in nanoseconds.")
    wall_clock: int = wire(U64, "Nanoseconds since 1970 when it began.")
    interface: bytes = wire(raw(16), "Begin of the SHA-256 of the table of functions.")


class TraceRecord(Record, size=40):
    """One thing that happened."""

    size: int = wire(U32, "Bytes of payload behind this record.")
    kind: TraceKind = wire(U32, "What it tells.", kinds=TraceKind)
    program: int = wire(U32, "Number of the program, from 1.")
    thread: int = wire(U32, "Thread of the call, as the system numbers it; 0 if none is meant.")
    call: int = wire(U64, "Number of the call in its program, from 1; 0 if none is meant.")
    time: int = wire(U64, "CLOCK_MONOTONIC in nanoseconds.")
    what: int = wire(U32, "See the kind.")
    more: int = wire(U32, "See the kind.")
