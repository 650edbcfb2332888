"""Pages about what is asked and answered: commands, replies, faults, handles, statistics."""

from typing import Final

from firmware.abi.control import (
    CONTROL_COMMANDS,
    ControlCommand,
    FileExtent,
    InvalidateScope,
    MapExtent,
    ObjectFlags,
    ObjectKind,
    QueueKind,
    RangeExtent,
    ReleaseMode,
    Subject,
    TranslationExtent,
)
from firmware.abi.faults import FaultReason, FaultRecord
from firmware.abi.ids import Access
from firmware.abi.ipc import ExportKind, IpcHandle, Ticket
from firmware.abi.reference.page import Page
from firmware.abi.replies import Reply
from firmware.abi.statistics import (
    ClientStatistics,
    DeviceStatistics,
    ExportProperties,
    ObjectProperties,
    QueueStatistics,
    SpaceStatistics,
)
from firmware.abi.status import Status
from firmware.abi.work import WORK_COMMANDS, Advice, WorkCommand, WorkFlags

_CONTROL: Final = """
What the driver asks of the device's firmware. Each command is one 64-byte entry of the control
ring; lists and results that do not fit stand in the payload area of the segment (`payload_offset`
counts from its start). Every command is answered by one [reply](replies.md) with the same `request`
number; replies may overtake each other. **A command that is refused changes nothing.**

Every command begins with this header:
"""

_CONTROL_TYPES: Final = """
## Extents

Records of the payload area.
"""

_REPLIES: Final = """
The firmware's answers, entries of the reply ring. A reply whose status is not `OK` is a `Refused`,
whatever the opcode; otherwise the opcode tells the record. A status of `OK` for an opcode that does
not exist is malformed.

Every reply begins with this header:
"""

_WORK: Final = """
Commands of copy and compute rings, 64 bytes each. Commands of one ring begin and end in order;
rings run side by side. The n-th command of a queue has *seqno* n (64 bits, from 1, never reset);
the ring header's `completed` is the seqno of the last one done.

Addresses are virtual, in the address space of the queue, with any alignment unless the field says
otherwise. Host memory that no page table maps is named by an address of the client's process and
the flags CLIENT_SOURCE or CLIENT_DESTINATION.

A command that cannot go on stops its ring with a [fault record](faults.md): later commands of the
ring do not run, others go on.

Every command begins with this header:
"""

_FAULTS: Final = """
What an engine could not do. The device writes the record, then the fault ring's tail, then the
register FAULT_STATUS, and raises the interrupt. The ring that faulted is STOPPED and its
`completion_status` says why; other rings go on. QUEUE_RESET recovers it: head and tail go to zero,
seqnos go on.

A full fault ring drops records: FAULT_STATUS then has `overflow` and counts them in `dropped`.
"""

_IPC: Final = """
The 64 bytes by which one process names memory to another. Programs use them in three ways: they
send the bytes alone, they send the descriptor by SCM_RIGHTS and put its new number into bytes 0
to 3, or they pull the descriptor out of the exporter. So the check word leaves bytes 0 to 3 out.

The *token* is a capability of 128 random bits: the device knows what is behind it, and nobody can
alter one handle into another object. The descriptor of an export without data is a *ticket*, a
small sealed memory file that identifies the export by itself.

1. The exporter asks EXPORT for a token and fills in the handle.
2. The importer checks magic, version, `emulator_id` and check word, then asks EXPORT_OPEN.
3. Every object along the window is mapped in the exporter's order; the window begins `offset` bytes
   into the first page.
4. EXPORT_PUT revokes the handle: it opens no more. What is open lives until its last EXPORT_CLOSE,
   also when the exporter dies.
"""

_STATISTICS: Final = """
Records that GET_STATISTICS and GET_PROPERTIES write into the payload area, one behind the other;
the [reply](replies.md#statistics) tells how many. Counters count since boot.
"""

_STATUS: Final = """
The outcome of a command, in replies, ring headers and fence slots. `detail` of a `Refused` explains
it: an address, a limit, the offset of a field.
"""

COMMAND_PAGES: Final = (
    Page(
        "control_commands.md",
        "Control commands",
        "What the driver asks of the firmware: spaces, objects, mappings, queues, exports.",
        (
            _CONTROL,
            ControlCommand,
            "@control",
            "## Commands",
            *CONTROL_COMMANDS.values(),
            _CONTROL_TYPES,
            MapExtent,
            RangeExtent,
            FileExtent,
            TranslationExtent,
            "## Enumerations and flags",
            ObjectKind,
            ObjectFlags,
            QueueKind,
            ReleaseMode,
            Subject,
            InvalidateScope,
        ),
    ),
    Page(
        "replies.md",
        "Replies",
        "How the firmware answers each control command.",
        (_REPLIES, Reply, "@replies", "## Records", *Reply.__subclasses__()),
    ),
    Page(
        "work_commands.md",
        "Work commands",
        "Entries of copy and compute rings.",
        (
            _WORK,
            WorkCommand,
            "@work",
            "## Commands",
            *WORK_COMMANDS.values(),
            "## Enumerations and flags",
            WorkFlags,
            Advice,
        ),
    ),
    Page(
        "faults.md",
        "Faults",
        "Fault records, and how to go on after one.",
        (_FAULTS, FaultRecord, FaultReason, Access),
    ),
    Page(
        "ipc_handle.md",
        "IPC handle",
        "The 64 bytes that name memory to another process.",
        (_IPC, IpcHandle, Ticket, ExportKind),
    ),
    Page(
        "statistics.md",
        "Statistics and properties",
        "Records that tell what is there and what was done.",
        (
            _STATISTICS,
            DeviceStatistics,
            ClientStatistics,
            QueueStatistics,
            SpaceStatistics,
            ObjectProperties,
            ExportProperties,
        ),
    ),
    Page("status_codes.md", "Status codes", "Outcomes of commands.", (_STATUS, Status)),
)
"""These pages, in reading order."""
