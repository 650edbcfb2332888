"""Enumerations of the control commands, and the header that all commands begin with."""

from enum import IntEnum, IntFlag
from typing import ClassVar

from firmware.abi._record import Record, constant, wire
from firmware.abi._wire import U16, U32


class ControlOpcode(IntEnum):
    """Operations of the control ring."""

    NOP = 0x00
    GET_PROPERTIES = 0x01
    GET_STATISTICS = 0x02
    SPACE_CREATE = 0x10
    SPACE_DESTROY = 0x11
    OBJECT_CREATE = 0x20
    OBJECT_DESTROY = 0x21
    SEGMENT_REGISTER = 0x22
    SEGMENT_UNREGISTER = 0x23
    ALLOCATE = 0x24
    RELEASE = 0x25
    MAP = 0x30
    MAP_LIST = 0x31
    UNMAP = 0x32
    UNMAP_LIST = 0x33
    PROTECT = 0x34
    PROTECT_LIST = 0x35
    QUERY = 0x36
    TLB_INVALIDATE = 0x37
    QUEUE_CREATE = 0x40
    QUEUE_DESTROY = 0x41
    QUEUE_RESET = 0x42
    EXPORT = 0x50
    EXPORT_OPEN = 0x51
    EXPORT_CLOSE = 0x52
    EXPORT_PUT = 0x53
    EXPORT_OBJECT = 0x54
    IMPORT_FILES = 0x55
    EXPORT_FIND = 0x56
    FENCE_POOL_CREATE = 0x60
    FENCE_POOL_CLOSE = 0x61
    FENCE_POOL_EXPORT = 0x62
    FENCE_POOL_OPEN = 0x63
    FENCE_POOL_REVOKE = 0x64


class ObjectKind(IntEnum):
    """What stands behind a memory object."""

    VRAM = 0
    """Frames of device memory, not visible to any process."""
    SYSTEM = 1
    """A sealed memory file made by the device, mapped by device and client."""
    CLIENT_DESCRIPTOR = 2
    """A sealed memory file that the client passed."""
    CLIENT_PAGES = 3
    """Pages of the client's own address space, reached where they are."""
    IMPORT = 4
    """An export opened by this client: the same memory, in the exporter's order."""


class ObjectFlags(IntFlag):
    """How an object is made."""

    NONE = 0
    """Nothing special."""
    DATA_DESCRIPTOR = 1
    """VRAM object with a memory file of its own that can be passed on (external memory)."""
    READ_ONLY = 2
    """The device may only read."""


class ReleaseMode(IntEnum):
    """When RELEASE answers while submitted commands still name the memory."""

    BEHIND_WORK = 0
    """At once; the memory goes when the last of them is done."""
    WAIT = 1
    """When the memory has gone."""


class QueueKind(IntEnum):
    """Which engines serve a queue."""

    COPY = 0
    """Copy engines."""
    COMPUTE = 1
    """Compute engines."""


class Subject(IntEnum):
    """What GET_PROPERTIES and GET_STATISTICS tell about; the payload then holds the record."""

    DEVICE = 0
    """`SpecBlock`, or one `DeviceStatistics`."""
    OBJECT = 1
    """`ObjectProperties` of `target`."""
    QUEUE = 2
    """`QueueStatistics` of every queue of the device (statistics)."""
    CLIENT = 3
    """`ClientStatistics` of every client of the device (statistics)."""
    SPACE = 4
    """`SpaceStatistics` of every address space of the device (statistics)."""
    EXPORT = 5
    """`ExportProperties` of the export that `target` (an import object) came from."""


class InvalidateScope(IntEnum):
    """How much of a TLB to forget."""

    PAGE = 0
    """The page that holds `va`."""
    RANGE = 1
    """`size_bytes` from `va` on."""
    SPACE = 2
    """One address space."""
    ALL = 3
    """Every address space of this client."""


class ControlCommand(Record):
    """Header of every control command."""

    OPCODE: ClassVar[ControlOpcode]

    opcode: int = constant(U16, 0, "`ControlOpcode` of the command.")
    request: int = wire(U32, "Chosen by the driver, returned in the reply.", at=4)
