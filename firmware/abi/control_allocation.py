"""Control commands on memory and its address at once."""

from firmware.abi._record import wire
from firmware.abi._wire import U32, U64
from firmware.abi.control_kinds import (
    ControlCommand,
    ControlOpcode,
    ObjectFlags,
    ObjectKind,
    ReleaseMode,
)
from firmware.abi.ids import CONTROL_MESSAGE_SIZE, Rights


class Allocate(ControlCommand, size=CONTROL_MESSAGE_SIZE, opcode=ControlOpcode.ALLOCATE):
    """Make a memory object and map all of it at a virtual address, both or neither.

    A SYSTEM object's descriptor travels on the socket with the reply. A CLIENT_PAGES object is the
    client's own pages at that address, as SEGMENT_REGISTER makes one.
    """

    vmid: int = wire(U32, "Address space.")
    kind: ObjectKind = wire(U32, "VRAM, SYSTEM or CLIENT_PAGES.", kinds=ObjectKind)
    flags: ObjectFlags = wire(U32, "How it is made.", flags=ObjectFlags)
    rights: Rights = wire(U32, "Rights of the mapping.", flags=Rights)
    va: int = wire(U64, "First virtual address.")
    size_bytes: int = wire(U64, "Size, a multiple of 4 KiB.")
    page_size: int = wire(U64, "Preferred page size: frames come in runs of this many bytes.")


class Release(ControlCommand, size=CONTROL_MESSAGE_SIZE, opcode=ControlOpcode.RELEASE):
    """Unmap an object and give it up, once no submitted command names its addresses.

    The object must be mapped at `va` from its first to its last byte, and nowhere else. Commands
    count that stood in a ring of the address space when this one was taken: they run as if nothing
    had happened. Memory lives on while exports hold it.
    """

    vmid: int = wire(U32, "Address space.")
    mode: ReleaseMode = wire(U32, "When to answer.", kinds=ReleaseMode)
    va: int = wire(U64, "First virtual address.")
    size_bytes: int = wire(U64, "Size of the object.")
    object_id: int = wire(U64, "Object that ALLOCATE, OBJECT_CREATE or SEGMENT_REGISTER made.")
