"""Replies: the firmware's answer to each control command, on the reply ring.

A reply with a status other than OK is a `Refused`, whatever the opcode. Otherwise it is the record
of its opcode; commands without results are answered with `Done`.
"""

import struct
from typing import Final

from firmware.abi._malformed import Malformed, Reason
from firmware.abi._record import Buffer, Record, wire
from firmware.abi._wire import U16, U32, U64, raw
from firmware.abi.control import ControlOpcode
from firmware.abi.ids import CONTROL_MESSAGE_SIZE
from firmware.abi.status import Status

SIZE: Final = CONTROL_MESSAGE_SIZE


class Reply(Record):
    """Header of every reply."""

    opcode: int = wire(
        U16, "Opcode of the command that is answered (as it was found).", shown=ControlOpcode
    )
    status: Status = wire(U16, "Outcome.", kinds=Status)
    request: int = wire(U32, "Request number of the command.")


class Done(Reply, size=SIZE):
    """The command was carried out; it has no results."""


class Refused(Reply, size=SIZE):
    """The command was refused and changed nothing."""

    detail: int = wire(U64, "First bad address, limit or offset; see `Status`.")
    expected: int = wire(U64, "What the device expected there, where that is a number.")


class SpaceCreated(Reply, size=SIZE):
    """Answer to SPACE_CREATE."""

    vmid: int = wire(U32, "The new address space.")
    root_address: int = wire(U64, "VRAM address of its root table.", at=0x10)


class ObjectCreated(Reply, size=SIZE):
    """Answer to OBJECT_CREATE and SEGMENT_REGISTER."""

    object_id: int = wire(U64, "The new object.")
    size_bytes: int = wire(U64, "Its size.")
    bus_address: int = wire(U64, "First bus address (system memory), else zero.")
    page_size: int = wire(U64, "Page size that its memory allows.")
    descriptors: int = wire(U32, "Descriptors on the socket under this request number.")


class Allocated(Reply, size=SIZE):
    """Answer to ALLOCATE."""

    object_id: int = wire(U64, "The new object.")
    page_size: int = wire(U64, "Page size that its memory allows.")
    bus_address: int = wire(U64, "First bus address (system memory), else zero.")
    released: int = wire(U64, "Releases of this client up to this number are done.")
    descriptors: int = wire(U32, "Descriptors on the socket under this request number.")


class Released(Reply, size=SIZE):
    """Answer to RELEASE."""

    number: int = wire(U64, "Number of this release while it waits behind work; 0: it is done.")
    released: int = wire(U64, "Releases of this client up to this number are done.")


class Mapped(Reply, size=SIZE):
    """Answer to MAP, UNMAP, PROTECT and their lists."""

    page_count: int = wire(U64, "4 KiB pages mapped, unmapped or protected.")


class Queried(Reply, size=SIZE):
    """Answer to QUERY: the payload holds `count` extents of the `total` that the range has."""

    count: int = wire(U32, "Extents written.")
    total: int = wire(U32, "Extents of the range.")
    first_hole: int = wire(U64, "First virtual address that is not mapped, or all ones.")


class QueueCreated(Reply, size=SIZE):
    """Answer to QUEUE_CREATE."""

    queue_id: int = wire(U32, "The new queue.")
    doorbell: int = wire(U32, "Index of its doorbell word.")
    ring_offset: int = wire(U32, "Offset of its ring header in the segment; entries follow it.")
    entry_count: int = wire(U32, "Entries of its ring.")


class Exported(Reply, size=SIZE):
    """Answer to EXPORT and EXPORT_FIND."""

    token: bytes = wire(raw(16), "Capability that opens the export.")
    size_bytes: int = wire(U64, "Size of the window.")
    window_offset: int = wire(U64, "Offset of its first byte in its first page.")
    object_count: int = wire(U32, "Objects along the window.")
    device_index: int = wire(U32, "Device that holds it.")


class Opened(Reply, size=SIZE):
    """Answer to EXPORT_OPEN."""

    import_id: int = wire(U64, "Import object, for EXPORT_CLOSE.")
    va: int = wire(U64, "First virtual address mapped; the window begins at va + window_offset.")
    mapped_size: int = wire(U64, "Bytes mapped (whole pages).")
    window_offset: int = wire(U64, "Offset of the window in the first page.")
    size_bytes: int = wire(U64, "Size of the window.")
    object_count: int = wire(U32, "Objects along it.")
    file_count: int = wire(U32, "Parts in memory files, which IMPORT_FILES tells and sends.")


class FilesTold(Reply, size=SIZE):
    """Answer to IMPORT_FILES: the payload holds `count` records (`FileExtent`)."""

    count: int = wire(U32, "Records written, at least one unless `first` is past the last part.")
    descriptors: int = wire(U32, "Descriptors on the socket under this request number.")


class Statistics(Reply, size=SIZE):
    """Answer to GET_STATISTICS and GET_PROPERTIES: the payload holds `count` of `total` records."""

    count: int = wire(U32, "Records written.")
    total: int = wire(U32, "Records there are.")
    record_size: int = wire(U32, "Size of one record in bytes.")


class Invalidated(Reply, size=SIZE):
    """Answer to TLB_INVALIDATE: no engine uses the forgotten translations any more."""

    entry_count: int = wire(U64, "TLB entries that were forgotten.")


class FencePoolOpened(Reply, size=SIZE):
    """Answer to FENCE_POOL_CREATE and FENCE_POOL_OPEN."""

    pool: int = wire(U32, "Number of the pool in this client's commands, above zero.")
    slot_count: int = wire(U32, "Its slots (`FenceSlot`), from the first byte of its file on.")
    size_bytes: int = wire(U64, "Size of its file.")
    descriptors: int = wire(U32, "Descriptors on the socket under this request number.")


class FencePoolExported(Reply, size=SIZE):
    """Answer to FENCE_POOL_EXPORT."""

    token: bytes = wire(raw(16), "Capability that opens the pool.")


REPLIES: Final[dict[ControlOpcode, type[Reply]]] = {
    ControlOpcode.NOP: Done,
    ControlOpcode.GET_PROPERTIES: Statistics,
    ControlOpcode.GET_STATISTICS: Statistics,
    ControlOpcode.SPACE_CREATE: SpaceCreated,
    ControlOpcode.SPACE_DESTROY: Done,
    ControlOpcode.OBJECT_CREATE: ObjectCreated,
    ControlOpcode.OBJECT_DESTROY: Done,
    ControlOpcode.SEGMENT_REGISTER: ObjectCreated,
    ControlOpcode.SEGMENT_UNREGISTER: Done,
    ControlOpcode.ALLOCATE: Allocated,
    ControlOpcode.RELEASE: Released,
    ControlOpcode.MAP: Mapped,
    ControlOpcode.MAP_LIST: Mapped,
    ControlOpcode.UNMAP: Mapped,
    ControlOpcode.UNMAP_LIST: Mapped,
    ControlOpcode.PROTECT: Mapped,
    ControlOpcode.PROTECT_LIST: Mapped,
    ControlOpcode.QUERY: Queried,
    ControlOpcode.TLB_INVALIDATE: Invalidated,
    ControlOpcode.QUEUE_CREATE: QueueCreated,
    ControlOpcode.QUEUE_DESTROY: Done,
    ControlOpcode.QUEUE_RESET: Done,
    ControlOpcode.EXPORT: Exported,
    ControlOpcode.EXPORT_OPEN: Opened,
    ControlOpcode.EXPORT_CLOSE: Done,
    ControlOpcode.EXPORT_PUT: Done,
    ControlOpcode.EXPORT_FIND: Exported,
    ControlOpcode.FENCE_POOL_CREATE: FencePoolOpened,
    ControlOpcode.FENCE_POOL_CLOSE: Done,
    ControlOpcode.FENCE_POOL_EXPORT: FencePoolExported,
    ControlOpcode.FENCE_POOL_OPEN: FencePoolOpened,
    ControlOpcode.FENCE_POOL_REVOKE: Done,
    ControlOpcode.EXPORT_OBJECT: Exported,
    ControlOpcode.IMPORT_FILES: FilesTold,
}
"""Record that answers each operation when its status is OK."""


_HEADER_AT: Final = struct.Struct("<HH").unpack_from
_RECORDS: Final[dict[int, type[Reply]]] = {int(code): record for code, record in REPLIES.items()}


def decode_reply(buffer: Buffer, offset: int = 0) -> Reply | Malformed:
    """Decode one entry of the reply ring; an unknown opcode may only be refused."""
    try:
        opcode, status = _HEADER_AT(buffer, offset)
    except struct.error:
        found = max(0, memoryview(buffer).nbytes - offset)
        return Malformed("Reply", "size", Reason.TRUNCATED, 0, found, f"a header at {offset:#x}")
    if status:
        return Refused.unpack(buffer, offset)
    record = _RECORDS.get(opcode)
    if record is None:
        wanted = "the opcode of a command"
        return Malformed("Reply", "opcode", Reason.UNKNOWN_OPCODE, 0, opcode, wanted)
    return record.unpack(buffer, offset)
