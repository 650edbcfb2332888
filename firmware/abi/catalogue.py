"""Everything that the contract declares, in one place: what is generated is generated from here.

The C header, the reference pages, the golden bytes and the strategies of the tests cover all of
it. A record that is missing here fails a test.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum, IntFlag
from types import ModuleType
from typing import Final, NamedTuple

from firmware.abi import (
    boot,
    channel,
    faults,
    handshake,
    ids,
    ipc,
    paging,
    registers,
    rings,
    segment,
    trace,
)
from firmware.abi._record import Record
from firmware.abi._source import doc_of_constant
from firmware.abi._word import Word
from firmware.abi.boot import Behaviour, FirmwareLimits, FirmwareNote
from firmware.abi.channel import (
    AppendRecord,
    AppendsHeader,
    ArgumentNote,
    CallCounts,
    ChannelHeader,
    MessageKind,
    Place,
    PlaceKind,
    PlacesHeader,
    QuestionKind,
    SlotHeader,
    StreamRow,
    Watching,
)
from firmware.abi.control import (
    CONTROL_COMMANDS,
    ControlOpcode,
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
from firmware.abi.extensions import Extension
from firmware.abi.faults import FaultReason, FaultRecord
from firmware.abi.handshake import DescriptorNote, HandshakeStatus, Hello, Purpose, Welcome
from firmware.abi.ids import Access, Feature, PageSizes, Rights
from firmware.abi.ipc import ExportKind, IpcHandle, Ticket
from firmware.abi.paging import Aperture, Pde, Pte
from firmware.abi.registers import AbiVersion, BootError, DeviceStatus, FaultStatus, Phase
from firmware.abi.replies import Reply
from firmware.abi.rings import Doorbell, RingHeader, RingState
from firmware.abi.segment import FenceSlot, SpecBlock, Superblock
from firmware.abi.statistics import (
    ClientStatistics,
    DeviceStatistics,
    ExportProperties,
    ObjectProperties,
    QueueStatistics,
    SpaceStatistics,
)
from firmware.abi.status import Status
from firmware.abi.trace import TraceHeader, TraceKind, TraceRecord
from firmware.abi.work import WORK_COMMANDS, Advice, WorkFlags, WorkOpcode

_PLAIN: Final[tuple[type[Record], ...]] = (
    Hello,
    Welcome,
    DescriptorNote,
    ChannelHeader,
    SlotHeader,
    PlacesHeader,
    Place,
    AppendsHeader,
    AppendRecord,
    StreamRow,
    CallCounts,
    TraceHeader,
    TraceRecord,
    Superblock,
    SpecBlock,
    FenceSlot,
    RingHeader,
    FaultRecord,
    FileExtent,
    MapExtent,
    RangeExtent,
    TranslationExtent,
    IpcHandle,
    Ticket,
    FirmwareNote,
    FirmwareLimits,
    DeviceStatistics,
    ClientStatistics,
    QueueStatistics,
    SpaceStatistics,
    ObjectProperties,
    ExportProperties,
)


def _records() -> Iterator[tuple[str, type[Record]]]:
    for record in _PLAIN:
        yield record.__name__, record
    for record in CONTROL_COMMANDS.values():
        yield f"control.{record.__name__}", record
    for record in Reply.__subclasses__():
        yield f"reply.{record.__name__}", record
    for record in WORK_COMMANDS.values():
        yield f"work.{record.__name__}", record


RECORDS: Final[Mapping[str, type[Record]]] = dict(_records())
"""Every record by its name; members of a family under the family's: `control.Map`."""

WORDS: Final[tuple[type[Word], ...]] = (Pte, Pde, DeviceStatus, FaultStatus, AbiVersion, Doorbell)
"""Every word with named bits."""

ENUMS: Final[tuple[type[IntEnum], ...]] = (
    Status,
    HandshakeStatus,
    Purpose,
    MessageKind,
    QuestionKind,
    PlaceKind,
    ArgumentNote,
    TraceKind,
    Phase,
    BootError,
    Behaviour,
    RingState,
    ControlOpcode,
    ObjectKind,
    QueueKind,
    ReleaseMode,
    Subject,
    InvalidateScope,
    WorkOpcode,
    Advice,
    Aperture,
    FaultReason,
    ExportKind,
)
"""Every enumeration."""

FLAGS: Final[tuple[type[IntFlag], ...]] = (
    Feature,
    Rights,
    PageSizes,
    Access,
    ObjectFlags,
    WorkFlags,
    Extension,
    Watching,
)
"""Every flag word."""


class Constant(NamedTuple):
    """A number of the contract that is no field of a record."""

    name: str
    value: int
    doc: str


def _constants(module: ModuleType, *names: str) -> Iterator[Constant]:
    for name in names:
        yield Constant(name, int(getattr(module, name)), doc_of_constant(module.__name__, name))


CONSTANTS: Final = (
    *_constants(ids, "ABI_MAJOR", "ABI_MINOR", "CACHE_LINE"),
    *_constants(ids, "PAGE_SHIFT", "PAGE_SIZE", "VA_BITS", "VA_LIMIT", "BUS_LIMIT"),
    *_constants(ids, "CONTROL_MESSAGE_SIZE", "WORK_COMMAND_SIZE"),
    *_constants(handshake, "HELLO_MAGIC", "WELCOME_DESCRIPTORS", "MAX_DESCRIPTORS"),
    *_constants(channel, "CHANNEL_MAGIC", "CHANNEL_SLOTS", "CHANNEL_SLOT_SIZE"),
    *_constants(channel, "CHANNEL_SLOTS_OFFSET", "CHANNEL_PLACES"),
    *_constants(channel, "CHANNEL_PLACES_OFFSET", "CHANNEL_BEGIN"),
    *_constants(channel, "CHANNEL_NOTE", "CHANNEL_NUDGE", "CHANNEL_ASK", "CHANNEL_TELL"),
    *_constants(channel, "CHANNEL_APPENDS_OFFSET", "CHANNEL_APPENDS_SIZE"),
    *_constants(channel, "CHANNEL_LONGEST_APPEND", "CHANNEL_NO_APPEND"),
    *_constants(channel, "CHANNEL_STREAMS_OFFSET", "CHANNEL_STREAMS"),
    *_constants(channel, "CHANNEL_THREAD"),
    *_constants(channel, "CHANNEL_COUNTS_OFFSET", "CHANNEL_COUNTS"),
    *_constants(trace, "TRACE_MAGIC", "TRACE_VERSION"),
    *_constants(segment, "SEGMENT_MAGIC"),
    *_constants(registers, "REGISTER_PAGE_SIZE"),
    *_constants(rings, "CONTROL_QUEUE"),
    *_constants(paging, "ENTRY_SIZE", "TABLE_SHIFT", "TABLE_ENTRIES", "TABLE_SIZE"),
    *_constants(paging, "ROOT_LEVEL", "CONTIGUOUS_ENTRIES"),
    *_constants(faults, "NO_LEVEL"),
    *_constants(ipc, "IPC_MAGIC", "IPC_VERSION"),
    *_constants(boot, "NOTE_TYPE"),
)
"""Every number that both sides need besides records, words and enumerations."""
