"""Control commands: what the driver asks of the device's firmware over the control ring.

Each command is one 64-byte entry. What does not fit stands in the payload area of the segment
(`payload_offset` counts from its start). The device answers every command with one reply that
carries the same `request` number; replies may overtake each other. A refused command changes
nothing.
"""

from typing import Final

from firmware.abi._family import opcode_decoder, opcode_table
from firmware.abi._record import wire
from firmware.abi._wire import U32, U64
from firmware.abi.control_allocation import Allocate, Release
from firmware.abi.control_extents import FileExtent, MapExtent, RangeExtent, TranslationExtent
from firmware.abi.control_fences import (
    FencePoolClose,
    FencePoolCreate,
    FencePoolExport,
    FencePoolOpen,
    FencePoolRevoke,
)
from firmware.abi.control_kinds import (
    ControlCommand,
    ControlOpcode,
    InvalidateScope,
    ObjectFlags,
    ObjectKind,
    QueueKind,
    ReleaseMode,
    Subject,
)
from firmware.abi.control_sharing import (
    Export,
    ExportClose,
    ExportFind,
    ExportObject,
    ExportOpen,
    ExportPut,
    ImportFiles,
)
from firmware.abi.ids import CONTROL_MESSAGE_SIZE, Rights

SIZE: Final = CONTROL_MESSAGE_SIZE


class Nop(ControlCommand, size=SIZE, opcode=ControlOpcode.NOP):
    """Do nothing; the reply tells that everything before was taken."""


class GetProperties(ControlCommand, size=SIZE, opcode=ControlOpcode.GET_PROPERTIES):
    """Write the properties of one thing into the payload area."""

    subject: Subject = wire(U32, "What to describe.", kinds=Subject)
    payload_offset: int = wire(U32, "Where the record goes.")
    payload_size: int = wire(U32, "Room there in bytes.")
    target: int = wire(U64, "Its number, where the subject has one.", at=0x18)


class GetStatistics(ControlCommand, size=SIZE, opcode=ControlOpcode.GET_STATISTICS):
    """Write statistics records into the payload area; the reply tells how many there are."""

    subject: Subject = wire(U32, "What to count.", kinds=Subject)
    payload_offset: int = wire(U32, "Where the records go.")
    payload_size: int = wire(U32, "Room there in bytes.")


class SpaceCreate(ControlCommand, size=SIZE, opcode=ControlOpcode.SPACE_CREATE):
    """Make an empty address space (one root table)."""


class SpaceDestroy(ControlCommand, size=SIZE, opcode=ControlOpcode.SPACE_DESTROY):
    """Destroy an address space with its mappings and tables; objects stay.

    IN_USE while queues run in it.
    """

    vmid: int = wire(U32, "Address space.")


class ObjectCreate(ControlCommand, size=SIZE, opcode=ControlOpcode.OBJECT_CREATE):
    """Make a memory object. A SYSTEM object's descriptor travels on the socket with the reply."""

    kind: ObjectKind = wire(U32, "VRAM or SYSTEM.", kinds=ObjectKind)
    flags: ObjectFlags = wire(U32, "How it is made.", flags=ObjectFlags)
    size_bytes: int = wire(U64, "Size, a multiple of 4 KiB.")
    page_size: int = wire(U64, "Preferred page size: frames come in runs of this many bytes.")


class ObjectDestroy(ControlCommand, size=SIZE, opcode=ControlOpcode.OBJECT_DESTROY):
    """Give up an object. IN_USE while mapped; memory lives on while exports or imports hold it."""

    object_id: int = wire(U64, "Object.")


class SegmentRegister(ControlCommand, size=SIZE, opcode=ControlOpcode.SEGMENT_REGISTER):
    """Make the client's own memory an object (bus aperture).

    CLIENT_DESCRIPTOR: the descriptor is on the socket under the same request number.
    CLIENT_PAGES: the pages at `address` of the client's process.
    """

    kind: ObjectKind = wire(U32, "CLIENT_DESCRIPTOR or CLIENT_PAGES.", kinds=ObjectKind)
    flags: ObjectFlags = wire(U32, "READ_ONLY or nothing.", flags=ObjectFlags)
    address: int = wire(U64, "CLIENT_PAGES: first address in the client; else offset in the file.")
    size_bytes: int = wire(U64, "Size, a multiple of 4 KiB.")


class SegmentUnregister(ControlCommand, size=SIZE, opcode=ControlOpcode.SEGMENT_UNREGISTER):
    """Give up a registered segment; its bus addresses are not used again. IN_USE while mapped."""

    object_id: int = wire(U64, "Object that SEGMENT_REGISTER made.")


class Map(ControlCommand, size=SIZE, opcode=ControlOpcode.MAP):
    """Map part of an object at a virtual address."""

    vmid: int = wire(U32, "Address space.")
    rights: Rights = wire(U32, "Rights of the mapping.", flags=Rights)
    va: int = wire(U64, "First virtual address.")
    size_bytes: int = wire(U64, "Bytes to map.")
    object_id: int = wire(U64, "Object; 0 maps null pages (loads give zero, stores are dropped).")
    object_offset: int = wire(U64, "First byte of the object.")


class MapList(ControlCommand, size=SIZE, opcode=ControlOpcode.MAP_LIST):
    """Map `count` extents (`MapExtent`) from the payload area, all or none."""

    vmid: int = wire(U32, "Address space.")
    count: int = wire(U32, "Extents in the payload, at least one.")
    payload_offset: int = wire(U32, "Where they stand.")


class Unmap(ControlCommand, size=SIZE, opcode=ControlOpcode.UNMAP):
    """Clear a range, invalidate the TLB, answer when every engine has acknowledged."""

    vmid: int = wire(U32, "Address space.")
    va: int = wire(U64, "First virtual address.", at=0x10)
    size_bytes: int = wire(U64, "Bytes; holes are allowed.")


class UnmapList(ControlCommand, size=SIZE, opcode=ControlOpcode.UNMAP_LIST):
    """Unmap `count` ranges (`RangeExtent`) from the payload area, all or none."""

    vmid: int = wire(U32, "Address space.")
    count: int = wire(U32, "Ranges in the payload, at least one.")
    payload_offset: int = wire(U32, "Where they stand.")


class Protect(ControlCommand, size=SIZE, opcode=ControlOpcode.PROTECT):
    """Change the rights of a range that is mapped without holes."""

    vmid: int = wire(U32, "Address space.")
    rights: Rights = wire(U32, "New rights.", flags=Rights)
    va: int = wire(U64, "First virtual address.")
    size_bytes: int = wire(U64, "Bytes.")


class ProtectList(ControlCommand, size=SIZE, opcode=ControlOpcode.PROTECT_LIST):
    """Change rights of `count` ranges (`RangeExtent`, each with its rights), all or none."""

    vmid: int = wire(U32, "Address space.")
    count: int = wire(U32, "Ranges in the payload, at least one.")
    payload_offset: int = wire(U32, "Where they stand.")


class Query(ControlCommand, size=SIZE, opcode=ControlOpcode.QUERY):
    """Walk a range; write its coalesced extents (`TranslationExtent`) into the payload area."""

    vmid: int = wire(U32, "Address space.")
    payload_offset: int = wire(U32, "Where the extents go.")
    va: int = wire(U64, "First virtual address.")
    size_bytes: int = wire(U64, "Bytes; 1 walks one address.")
    capacity: int = wire(U32, "Extents that fit there.")


class TlbInvalidate(ControlCommand, size=SIZE, opcode=ControlOpcode.TLB_INVALIDATE):
    """Forget cached translations; the reply is the acknowledgement."""

    vmid: int = wire(U32, "Address space (not used by ALL).")
    scope: InvalidateScope = wire(U32, "How much.", kinds=InvalidateScope)
    va: int = wire(U64, "First virtual address (PAGE, RANGE).")
    size_bytes: int = wire(U64, "Bytes (RANGE).")


class QueueCreate(ControlCommand, size=SIZE, opcode=ControlOpcode.QUEUE_CREATE):
    """Make a work queue; the device places its ring in the pool and gives it a doorbell."""

    vmid: int = wire(U32, "Address space in which its commands run.")
    kind: QueueKind = wire(U32, "Engines that serve it.", kinds=QueueKind)
    entry_count: int = wire(U32, "Ring size in commands, a power of two.")
    priority: int = wire(U32, "0 normal, 1 high, 2 low: share of the engine's turns.")


class QueueDestroy(ControlCommand, size=SIZE, opcode=ControlOpcode.QUEUE_DESTROY):
    """Destroy a queue; commands not begun are dropped, one in flight ends at its next chunk."""

    queue_id: int = wire(U32, "Queue.")


class QueueReset(ControlCommand, size=SIZE, opcode=ControlOpcode.QUEUE_RESET):
    """Recover a stopped queue: head and tail go to zero, the state to RUNNING, seqnos go on.

    Dropped commands keep their numbers: `completed` becomes that of the last one published.
    """

    queue_id: int = wire(U32, "Queue.")


CONTROL_COMMANDS: Final = opcode_table(ControlCommand)
"""Record of each control operation, by opcode."""

decode_control: Final = opcode_decoder("ControlCommand", CONTROL_COMMANDS)
"""Decode one entry of the control ring: `decode_control(buffer, offset=0)`."""

__all__ = [
    "CONTROL_COMMANDS",
    "SIZE",
    "Allocate",
    "ControlCommand",
    "ControlOpcode",
    "Export",
    "ExportClose",
    "ExportFind",
    "ExportObject",
    "ExportOpen",
    "ExportPut",
    "FencePoolClose",
    "FencePoolCreate",
    "FencePoolExport",
    "FencePoolOpen",
    "FencePoolRevoke",
    "FileExtent",
    "GetProperties",
    "GetStatistics",
    "ImportFiles",
    "InvalidateScope",
    "Map",
    "MapExtent",
    "MapList",
    "Nop",
    "ObjectCreate",
    "ObjectDestroy",
    "ObjectFlags",
    "ObjectKind",
    "Protect",
    "ProtectList",
    "Query",
    "QueueCreate",
    "QueueDestroy",
    "QueueKind",
    "QueueReset",
    "RangeExtent",
    "Release",
    "ReleaseMode",
    "SegmentRegister",
    "SegmentUnregister",
    "SpaceCreate",
    "SpaceDestroy",
    "Subject",
    "TlbInvalidate",
    "TranslationExtent",
    "Unmap",
    "UnmapList",
    "decode_control",
]
