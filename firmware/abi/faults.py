"""Fault records: what an engine could not do, written to the client's fault ring."""

from enum import IntEnum
from typing import Final

from firmware.abi._record import Record, wire
from firmware.abi._wire import U8, U16, U32, U64
from firmware.abi.ids import Access
from firmware.abi.paging import Pte
from firmware.abi.work import WorkOpcode


class FaultReason(IntEnum):
    """Why an engine stopped."""

    NOT_PRESENT = 1
    """No valid entry on the way to the page."""
    RIGHTS = 2
    """The page is mapped without the right that the access needs."""
    POISON = 3
    """Uncorrectable memory error in the frame."""
    BAD_COMMAND = 4
    """The command's bytes are malformed or its arguments are out of range."""
    BAD_TAIL = 5
    """The ring's tail was more than the ring's size ahead of its head."""
    BAD_APERTURE = 6
    """The entry points to memory that does not exist or is not this client's."""
    MALFORMED_ENTRY = 7
    """Reserved bits, unknown values or a torn contiguous group in a page-table entry."""
    CLIENT_MEMORY = 8
    """The client's own page is gone, or not readable or writable any more."""
    FENCE_LOST = 9
    """The fence that the command waits for ended early; `detail` is its status."""
    TRANSFER = 10
    """The engine failed while it moved bytes; those before `va` were moved."""
    ENGINE_RESET = 11
    """The engine was reset while it worked for this queue; the command may have been begun."""


class FaultRecord(Record, size=64):
    """One fault: when, which command, which address, what the page table said."""

    time_ticks: int = wire(U64, "Device time in nanoseconds.")
    seqno: int = wire(U64, "Seqno of the command that faulted.")
    va: int = wire(U64, "First virtual address that faulted (or ring index, for ring errors).")
    entry: int = wire(U64, "Page-table entry as it was read; zero if none was reached.", shown=Pte)
    queue_id: int = wire(U32, "Queue that stopped.")
    vmid: int = wire(U32, "Address space.")
    tag: int = wire(U32, "Tag of the command.")
    reason: FaultReason = wire(U16, "Why.", kinds=FaultReason)
    access: Access = wire(U8, "What the engine wanted to do.", flags=Access)
    level: int = wire(U8, "Level of the entry; 0xff if no walk was made.")
    opcode: int = wire(U16, "Opcode of the command as it was found.", shown=WorkOpcode)
    detail: int = wire(U32, "Offset of the malformed field, or a number of the reason.", at=52)


NO_LEVEL: Final = 0xFF
"""`FaultRecord.level` when no page-table walk was made."""
