"""Questions: what a driver coroutine awaits.

The coroutines of `core` and `api` do no I/O. They await a question, a small frozen value, and go on
with the answer. Who runs them decides how it is answered: `hostdriver.runtime` by blocking calls in
this process, an emulator at once or later for a program elsewhere, a test from a list.

A coroutine runs undisturbed from one question to the next, whatever threads there are; between
them everything may have changed, so that what it is about to do has to be noted before it asks.

A runner that cannot answer any more (the device is lost) throws `ZeError` into the coroutine.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, TypeAlias, TypeVar, final

import msgspec

from firmware.abi.faults import FaultRecord
from firmware.abi.replies import Reply
from hostdriver.core.questionbase import Question
from hostdriver.core.streamquestions import (
    AwaitRoom,
    Beside,
    CallHost,
    Clock,
    Offer,
    Offered,
    OnThread,
    Pause,
)
from hostdriver.core.ticketquestions import (
    DropTicket,
    GiveDescriptor,
    MakeTicket,
    ReadTicket,
    TicketFile,
)

if TYPE_CHECKING:
    from firmware.abi.control import ControlCommand
    from hostdriver.core.slotmemory import SlotMemory

ResultT = TypeVar("ResultT")


@final
class Answer(msgspec.Struct, frozen=True):
    """What the device answered to one control command."""

    reply: Reply
    payload: bytes = b""
    """What it wrote into the room that the question offered."""
    descriptors: tuple[int, ...] = ()
    """Descriptors that came with it, now the application's; `CloseDescriptor` gives them up."""
    problem: str = ""
    """Why descriptors that the reply names are not there."""


@final
class Control(Question[Answer], frozen=True):
    """Send a command to a device's firmware; the answer is its reply, a refusal too.

    The runner fills in the request number and the payload's place.
    """

    device: int
    command: ControlCommand
    payload: bytes = b""
    room: int = 0
    """Bytes that the device may write into the payload."""
    descriptors: tuple[int, ...] = ()
    """Descriptors of the application that go with the command, and stay its own."""


@final
class Reserve(Question["int | None"], frozen=True):
    """Reserve address space of the application outside the arena, without access.

    Answer: its address, or None when there is no room.
    """

    size: int
    hint: int
    """The one address that will do; 0 for any that is aligned."""
    alignment: int


@final
class Release(Question[None], frozen=True):
    """Give up address space that `Reserve` answered."""

    va: int
    size: int


@final
class MapDescriptor(Question["str | None"], frozen=True):
    """Map a descriptor's memory over reserved address space, readable and writable for the CPU.

    Answer: None, or why it could not be done (nothing changed then).
    """

    descriptor: int
    offset: int
    va: int
    size: int


@final
class ProtectNone(Question[None], frozen=True):
    """Make reserved address space inaccessible again; what was mapped there is gone."""

    va: int
    size: int


@final
class CloseDescriptor(Question[None], frozen=True):
    """Close a descriptor that came with an `Answer`."""

    descriptor: int


@final
class Submit(Question[int], frozen=True):
    """Put commands into a work ring, in order, when there is room; answer the last one's seqno."""

    device: int
    queue: int
    commands: tuple[bytes, ...]


@final
class SharedWord(msgspec.Struct, frozen=True):
    """A u64 of a segment that counts up, with what stands beside it (byte offsets)."""

    offset: int
    status: int
    """u32: `Status` of what ended it early."""
    sleepers: int
    """u32: how many threads sleep on it."""


@final
class Waited(msgspec.Struct, frozen=True):
    """A word of shared memory and the status beside it, as they were when a wait ended."""

    value: int
    status: int
    """`Status` of what ended it early, else 0."""


@final
class WaitWord(Question[Waited], frozen=True):
    """Wait until a 64-bit word of the segment reaches a value, or gets a status, or time is up."""

    device: int
    word: SharedWord
    value: int
    timeout_seconds: float | None = None


@final
class JoinSlots(Question["SlotMemory | str"], frozen=True):
    """Map the memory file of a fence pool; the answer is its slots, or why it cannot be done."""

    device: int
    descriptor: int
    size: int


@final
class LeaveSlots(Question[None], frozen=True):
    """Unmap the slots of a fence pool."""

    device: int
    memory: SlotMemory


@final
class WaitSlot(Question[Waited], frozen=True):
    """Wait until a slot has a value, or a status, or time is up, or the device is gone."""

    device: int
    memory: SlotMemory
    slot: int
    value: int
    timeout_seconds: float | None = None


@final
class Faults(Question[tuple[FaultRecord, ...]], frozen=True):
    """Take the fault records that came for one queue."""

    device: int
    queue: int


@final
class Duplicate(Question["int | str"], frozen=True):
    """Take one more descriptor of the file behind a number of the application, for the driver.

    Answer: the driver's own descriptor, for `Control` and `MapDescriptor`; or why there is none.
    """

    descriptor: int


@final
class FindMissing(Question["int | None"], frozen=True):
    """Look whether a range of the application's own memory is still there.

    Answer: the first address that it cannot read, or None.
    """

    va: int
    size: int


@final
class StoreBytes(Question[None], frozen=True):
    """Copy bytes of the caller into memory that `MapDescriptor` mapped."""

    va: int
    data: memoryview


@final
class LoadBytes(Question[None], frozen=True):
    """Copy bytes of memory that `MapDescriptor` mapped into the caller's."""

    va: int
    into: memoryview


SlotQuestion: TypeAlias = JoinSlots | LeaveSlots | WaitSlot
"""What concerns fence pools."""
DeviceQuestion: TypeAlias = (
    Control | Submit | Offer | AwaitRoom | WaitWord | SlotQuestion | Faults | StoreBytes | LoadBytes
)
"""What concerns a device, and the bytes on their way to it."""
RunnerQuestion: TypeAlias = Beside | CallHost | Clock | OnThread | Pause
"""What concerns whoever runs the coroutine."""
SpaceQuestion: TypeAlias = Reserve | Release | MapDescriptor | ProtectNone | FindMissing
"""What concerns the address space of the application's process."""
TicketQuestion: TypeAlias = MakeTicket | GiveDescriptor | ReadTicket | DropTicket
"""What concerns the descriptors by which its exports are known."""
DescriptorQuestion: TypeAlias = CloseDescriptor | Duplicate | TicketQuestion
"""What concerns its descriptors."""
AnyQuestion: TypeAlias = DeviceQuestion | RunnerQuestion | SpaceQuestion | DescriptorQuestion
Operation: TypeAlias = Coroutine[AnyQuestion, object, ResultT]
"""A driver coroutine: asks questions, ends with a result or a `ZeError`."""

__all__ = [
    "Answer",
    "AnyQuestion",
    "AwaitRoom",
    "Beside",
    "CallHost",
    "Clock",
    "CloseDescriptor",
    "Control",
    "DescriptorQuestion",
    "DeviceQuestion",
    "DropTicket",
    "Duplicate",
    "Faults",
    "FindMissing",
    "GiveDescriptor",
    "JoinSlots",
    "LeaveSlots",
    "LoadBytes",
    "MakeTicket",
    "MapDescriptor",
    "Offer",
    "Offered",
    "OnThread",
    "Operation",
    "Pause",
    "ProtectNone",
    "Question",
    "ReadTicket",
    "Release",
    "Reserve",
    "ResultT",
    "RunnerQuestion",
    "SharedWord",
    "SlotQuestion",
    "SpaceQuestion",
    "StoreBytes",
    "Submit",
    "TicketFile",
    "TicketQuestion",
    "WaitSlot",
    "WaitWord",
    "Waited",
]
