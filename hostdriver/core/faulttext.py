"""Faults and stopped queues in words: what goes into the description of an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.faults import NO_LEVEL, FaultReason
from firmware.abi.ids import Access
from firmware.abi.status import Status
from firmware.abi.work import WorkOpcode
from hostdriver.core.results import RESULT_OF_STATUS, ZeError, ZeResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.abi.faults import FaultRecord

_REASONS: Final = {
    FaultReason.NOT_PRESENT: "nothing is mapped there",
    FaultReason.RIGHTS: "the mapping does not permit it",
    FaultReason.POISON: "the memory there has an uncorrectable error",
    FaultReason.BAD_COMMAND: "the command is malformed",
    FaultReason.BAD_TAIL: "the ring's tail is too far ahead",
    FaultReason.BAD_APERTURE: "the page-table entry points to memory that does not exist",
    FaultReason.MALFORMED_ENTRY: "the page-table entry is malformed",
    FaultReason.CLIENT_MEMORY: "the application's own page there is gone or protected",
    FaultReason.TRANSFER: "the copy engine failed there; what comes before was moved",
    FaultReason.FENCE_LOST: "what it waits for will not be signalled: its own queue stopped",
    FaultReason.ENGINE_RESET: "the engine was reset",
}
_VERBS: Final = {
    Access.READ: "read",
    Access.WRITE: "write",
    Access.ATOMIC: "change atomically",
    Access.FETCH: "fetch",
}


def describe_fault(fault: FaultRecord) -> str:
    """Return one clause that says which command could not do what, where and why."""
    names = {int(opcode): opcode.name for opcode in WorkOpcode}
    opcode = names.get(fault.opcode, f"opcode {fault.opcode:#x}")
    verbs = [verb for access, verb in _VERBS.items() if access in fault.access] or ["use"]
    text = (
        f"command {fault.seqno} ({opcode}) of queue {fault.queue_id} could not"
        f" {' or '.join(verbs)} {fault.va:#x}: {_REASONS[fault.reason]}"
    )
    if fault.level != NO_LEVEL:
        text += f" (page-table level {fault.level}, entry {fault.entry:#018x})"
    if fault.reason is FaultReason.BAD_COMMAND:
        text += f" (byte {fault.detail:#x})"
    return text


def work_failed(status: int, faults: Sequence[FaultRecord], doing: str) -> ZeError:
    """Return the error for work whose queue stopped.

    Args:
        status: `Status` that the queue shows.
        faults: what the fault ring said of this queue; may be empty when it overflowed.
        doing: what was being done, as the beginning of a sentence.
    """
    known = {int(member): member for member in Status}
    if status not in known:
        return ZeError(
            ZeResult.ZE_RESULT_ERROR_UNKNOWN, f"{doing}: the queue stopped with status {status:#x}"
        )
    cause = describe_fault(faults[0]) if faults else f"the queue stopped with {known[status].name}"
    return ZeError(RESULT_OF_STATUS[known[status]], f"{doing}: {cause}")
