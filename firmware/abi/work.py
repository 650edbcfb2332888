"""Work commands: 64-byte entries of copy and compute rings.

Commands of one ring begin and end in order. The n-th command of a queue has seqno n (from 1, 64
bits, never reset); the ring header's `completed` is the seqno of the last one done.
"""

from enum import IntEnum, IntFlag
from typing import ClassVar, Final

from firmware.abi._family import opcode_decoder, opcode_table
from firmware.abi._record import Record, constant, wire
from firmware.abi._wire import U16, U32, U64, raw
from firmware.abi.ids import WORK_COMMAND_SIZE


class WorkOpcode(IntEnum):
    """Operations of the work rings.

    None is 0: a place of a ring that nobody has written yet holds no command.
    """

    COPY = 0x01
    COPY_REGION = 0x02
    FILL = 0x03
    NOP = 0x04
    FENCE_WRITE = 0x10
    FENCE_WAIT = 0x11
    TIMESTAMP_WRITE = 0x12
    MEMORY_WRITE = 0x13
    BARRIER = 0x14
    MEMORY_WAIT = 0x15
    MEMORY_ADD = 0x16
    FENCE_TIMES = 0x17
    PREFETCH = 0x20
    ADVISE = 0x21


class WorkFlags(IntFlag):
    """Modifiers of a work command."""

    NONE = 0
    """No modifier."""
    INTERRUPT = 1
    """Raise the interrupt when the command is done, whatever the event index says."""
    CLIENT_SOURCE = 2
    """`source` is an address of the client's process that no page table maps."""
    CLIENT_DESTINATION = 4
    """`destination` is an address of the client's process that no page table maps."""
    STAMP_START = 8
    """FENCE_WRITE: store the time into `start_ticks`, and nothing else."""
    KEEP_START = 16
    """FENCE_WRITE: leave `start_ticks` as it is; the end is stored later than it."""
    RAISE_ONLY = 32
    """FENCE_WRITE: a value that is not above the slot's is not stored (counters)."""


class Advice(IntEnum):
    """Memory advice (`ze_memory_advice_t` has the same meanings)."""

    SET_READ_MOSTLY = 0
    """Mostly read, seldom written."""
    CLEAR_READ_MOSTLY = 1
    """Takes SET_READ_MOSTLY back."""
    SET_PREFERRED_LOCATION = 2
    """Wants to stand in device memory."""
    CLEAR_PREFERRED_LOCATION = 3
    """Takes SET_PREFERRED_LOCATION back."""
    SET_NON_ATOMIC_MOSTLY = 4
    """Atomic operations are seldom."""
    CLEAR_NON_ATOMIC_MOSTLY = 5
    """Takes SET_NON_ATOMIC_MOSTLY back."""
    BIAS_CACHED = 6
    """Prefers cached access."""
    BIAS_UNCACHED = 7
    """Prefers uncached access."""
    SET_SYSTEM_MEMORY_PREFERRED_LOCATION = 8
    """Wants to stand in system memory."""
    CLEAR_SYSTEM_MEMORY_PREFERRED_LOCATION = 9
    """Takes SET_SYSTEM_MEMORY_PREFERRED_LOCATION back."""


class WorkCommand(Record):
    """Header of every work command."""

    OPCODE: ClassVar[WorkOpcode]

    opcode: int = constant(U16, 0, "`WorkOpcode` of the command.")
    flags: WorkFlags = wire(U16, "Modifiers.", flags=WorkFlags)
    tag: int = wire(U32, "Free for the driver: appears in fault records and traces.")


SIZE: Final = WORK_COMMAND_SIZE


class Nop(WorkCommand, size=SIZE, opcode=WorkOpcode.NOP):
    """Do nothing."""


class Copy(WorkCommand, size=SIZE, opcode=WorkOpcode.COPY):
    """Copy `size_bytes` from `source` to `destination`; overlapping ranges copy as memmove does."""

    source: int = wire(U64, "First virtual address to read.")
    destination: int = wire(U64, "First virtual address to write.")
    size_bytes: int = wire(U64, "Bytes; zero does nothing.")


class CopyRegion(WorkCommand, size=SIZE, opcode=WorkOpcode.COPY_REGION):
    """Copy a box of `width` bytes x `height` rows x `depth` slices."""

    source: int = wire(U64, "Virtual address of the box's first byte in the source.")
    destination: int = wire(U64, "Virtual address of the box's first byte in the destination.")
    width: int = wire(U32, "Bytes of a row, at least one.")
    height: int = wire(U32, "Rows, at least one.")
    depth: int = wire(U32, "Slices, at least one.")
    source_row_pitch: int = wire(U32, "Bytes from row to row in the source, at least `width`.")
    source_slice_pitch: int = wire(U64, "Bytes from slice to slice in the source.")
    destination_slice_pitch: int = wire(U64, "Bytes from slice to slice in the destination.")
    destination_row_pitch: int = wire(U32, "Bytes from row to row in the destination.")


class Fill(WorkCommand, size=SIZE, opcode=WorkOpcode.FILL):
    """Fill `size_bytes` with a pattern; a last, partial pattern is cut off."""

    destination: int = wire(U64, "First virtual address to write.")
    size_bytes: int = wire(U64, "Bytes; zero does nothing.")
    pattern: bytes = wire(raw(16), "The pattern in the first `pattern_size` bytes, rest zero.")
    pattern_size: int = wire(U32, "1, 2, 4, 8 or 16.")


class FenceWrite(WorkCommand, size=SIZE, opcode=WorkOpcode.FENCE_WRITE):
    """Store `value` and device time into a fence slot and wake its waiters.

    A queue that stops or ends before it came to this command stores its `Status` into the slot
    instead.
    """

    pool: int = wire(U32, "Fence pool; 0 is the client's segment.")
    slot: int = wire(U32, "Slot in the pool.")
    value: int = wire(U64, "Seqno to store.")


class FenceWait(WorkCommand, size=SIZE, opcode=WorkOpcode.FENCE_WAIT):
    """Hold this ring until a fence slot's value is at least `value`; other rings go on.

    It faults when the fence ended early: nobody is going to raise the value.
    """

    pool: int = wire(U32, "Fence pool; 0 is the client's segment.")
    slot: int = wire(U32, "Slot in the pool.")
    value: int = wire(U64, "Seqno to wait for.")


class TimestampWrite(WorkCommand, size=SIZE, opcode=WorkOpcode.TIMESTAMP_WRITE):
    """Store the device clock (u64, nanoseconds) at a virtual address."""

    destination: int = wire(U64, "Virtual address, a multiple of 8.")


class MemoryWrite(WorkCommand, size=SIZE, opcode=WorkOpcode.MEMORY_WRITE):
    """Store a 64-bit value at a virtual address."""

    destination: int = wire(U64, "Virtual address, a multiple of 8.")
    value: int = wire(U64, "Value to store.")


class MemoryWait(WorkCommand, size=SIZE, opcode=WorkOpcode.MEMORY_WAIT):
    """Hold this ring until the 64-bit value at a virtual address is at least `value`.

    Whoever stores there need not tell the device, which looks at it every millisecond at least.
    """

    source: int = wire(U64, "Virtual address, a multiple of 8.")
    value: int = wire(U64, "Value to wait for.")


class MemoryAdd(WorkCommand, size=SIZE, opcode=WorkOpcode.MEMORY_ADD):
    """Add to the 64-bit value at a virtual address (mod 2^64)."""

    destination: int = wire(U64, "Virtual address, a multiple of 8.")
    value: int = wire(U64, "What to add.")


class FenceTimes(WorkCommand, size=SIZE, opcode=WorkOpcode.FENCE_TIMES):
    """Store start and end of a fence slot, twice one after the other (32 bytes), at an address."""

    pool: int = wire(U32, "Fence pool; 0 is the client's segment.")
    slot: int = wire(U32, "Slot in the pool.")
    destination: int = wire(U64, "Virtual address, a multiple of 8.")


class Barrier(WorkCommand, size=SIZE, opcode=WorkOpcode.BARRIER):
    """Everything before in this ring is done and visible before anything behind it begins."""


class Prefetch(WorkCommand, size=SIZE, opcode=WorkOpcode.PREFETCH):
    """Bring translations of a range into the TLB; faults where the range is not mapped."""

    address: int = wire(U64, "First virtual address.")
    size_bytes: int = wire(U64, "Bytes.")


class Advise(WorkCommand, size=SIZE, opcode=WorkOpcode.ADVISE):
    """Note how a range will be used; kept in statistics, never changes results."""

    address: int = wire(U64, "First virtual address.")
    size_bytes: int = wire(U64, "Bytes.")
    advice: Advice = wire(U32, "What to note.", kinds=Advice)


WORK_COMMANDS: Final = opcode_table(WorkCommand)
"""Record of each work operation, by opcode."""

decode_work: Final = opcode_decoder("WorkCommand", WORK_COMMANDS)
"""Decode one entry of a work ring: `decode_work(buffer, offset=0)`."""

PATTERN_SIZES: Final = frozenset({1, 2, 4, 8, 16})
"""Sizes of a fill pattern in bytes."""
