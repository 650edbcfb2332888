"""The call channel: how a C program without a driver of its own reaches one in the emulator.

The program maps one memory file: `ChannelHeader`, then slots. A call takes a slot for itself: the
program writes `SlotHeader` and data, raises its word in `posted` and waits for `turn` to be equal.
The driver answers in the same slot, with the REPLY or with a QUESTION about the program's own
process (map this descriptor there, make this file), which the calling thread carries out and
answers before it waits again. Words have one writer each; payload is stored before the word that
tells of it.

Behind the slots stands a table of what the program's pointers name, which the driver keeps, so that
the library answers for them without a call: `PlacesHeader`, then entries sorted by address. Its
`turn` is odd while the driver changes it; what was read counts if `turn` was the same even number
before and after. The driver changes it before the reply that tells of the change.

Behind that table stands a ring of appends to command lists, with which nothing can be wrong and
whose results are therefore known: `AppendsHeader`, then `CHANNEL_APPENDS_SIZE` bytes. The library
puts a record for each there instead of calling; the driver carries all of them out before it looks
at a message that was posted behind them, so that it sees everything in the program's order.

Last comes a row for each queue and immediate list, `StreamRow`, from which the library sees whether
all is done that was handed over. Its `turn` is as that of the table of places; `target` may change
while it stays the same.
"""

from enum import IntEnum, IntFlag
from typing import Final

from firmware.abi._record import Record, constant, wire
from firmware.abi._wire import U32, U64, raw

CHANNEL_MAGIC: Final = 0x4E41_4843_5A4D_4531
"""The bytes `1EMZCHAN`."""
CHANNEL_SLOTS: Final = 64
"""Calls of one process that may be on their way at a time."""
CHANNEL_SLOT_SIZE: Final = 1 << 16
"""Bytes of a slot, its header included."""
CHANNEL_SLOTS_OFFSET: Final = 4096
"""Where the first slot stands."""
CHANNEL_BEGIN: Final = 0xFFFF
"""Function number of the first call: tells the driver about the process."""
CHANNEL_NOTE: Final = 0xFFFE
"""Function number of a note: tells a driver that traces of a call that the library answered.

Items: function, result, nanoseconds, count of arguments; for each `ArgumentNote` and the number, or
the size of a structure by value and its bytes; size of the error description, and that.
"""
CHANNEL_NUDGE: Final = 0xFFFD
"""Function number of a nudge: the process stored to a slot that queues of devices wait for.

No items. The driver rings each of its devices that is asleep, and replies.
"""
CHANNEL_THREAD: Final = 0xFFFC
"""Function number of the one call of a thread that START_THREAD began; item: its number."""
CHANNEL_ASK: Final = 0xFFFB
"""Function number of a question before a call, while rules of injection want one (`ASK`).

Items: function. A reply with an item lets the call go on: the item is a number that is to come with
its end, 0 for none. A reply without is the call's own: its result and text, nothing carried out.
"""
CHANNEL_TELL: Final = 0xFFFA
"""Function number of the end of a call that was asked for: with a number, or told always (`TELL`).

Items: function, number, result. A reply with an item leaves the call as it ended; one without has
the result and text that the program gets instead.
"""
CHANNEL_COUNTS_OFFSET: Final = CHANNEL_SLOTS_OFFSET + CHANNEL_SLOTS * CHANNEL_SLOT_SIZE
"""Where the first `CallCounts` stands, one for each function number."""
CHANNEL_COUNTS: Final = 512
"""Functions that can be counted."""
CHANNEL_PLACES_OFFSET: Final = CHANNEL_COUNTS_OFFSET + CHANNEL_COUNTS * 32
"""Where the table of places stands, behind the counts of 32 bytes each."""
CHANNEL_PLACES: Final = 1 << 16
"""Entries that the table of places has room for; with more the library asks the driver."""
CHANNEL_APPENDS_OFFSET: Final = CHANNEL_PLACES_OFFSET + 64 + CHANNEL_PLACES * 48
"""Where the ring of appends stands, behind the table of places with its header."""
CHANNEL_APPENDS_SIZE: Final = 1 << 18
"""Bytes of the ring of appends, behind its header."""
CHANNEL_STREAMS_OFFSET: Final = CHANNEL_APPENDS_OFFSET + 128 + CHANNEL_APPENDS_SIZE
"""Where the rows of queues and immediate lists stand, behind the ring of appends."""
CHANNEL_STREAMS: Final = 1 << 10
"""Rows of queues and immediate lists, of which the first belongs to nobody; the library asks the
driver about those that have none."""
CHANNEL_LONGEST_APPEND: Final = 1 << 10
"""Bytes of the longest record, its header included; longer appends are calls."""
CHANNEL_NO_APPEND: Final = 0xFFFF
"""Function number of a record without a call: the next one begins at the start of the ring."""


class MessageKind(IntEnum):
    """What stands in a slot."""

    CALL = 1
    """A call of the interface; `what` is its function's number."""
    ANSWER = 2
    """The program's answer to a question; `what` is the number of a wait, else 0."""
    QUESTION = 3
    """Something that the driver asks of the program's process; `what` is a `QuestionKind`."""
    REPLY = 4
    """The end of the call: its result and outputs."""


class QuestionKind(IntEnum):
    """What the driver asks of the program's process; arguments are u64 in this order.

    A call that waits leaves its slot: the answer to a wait comes in any slot that is free then,
    with the number of the wait as its `what`.
    """

    RESERVE = 1
    """Reserve addresses (size, hint or 0, alignment); answers the address, 0 for none."""
    RELEASE = 2
    """Give reserved addresses back (address, size)."""
    MAP = 3
    """Map the descriptor on the socket (offset, address, size); answers errno."""
    PROTECT_NONE = 4
    """Make addresses inaccessible again (address, size); answers errno."""
    MAKE_TICKET = 5
    """Make a sealed memory file with this content; answers errno, descriptor, device, inode."""
    READ_TICKET = 6
    """Read a memory file (descriptor, size); answers 1 if there is one, device, inode, content."""
    DROP_TICKET = 7
    """Close a ticket (descriptor, device, inode)."""
    STORE = 8
    """Store the bytes that follow (address, size)."""
    LOAD = 9
    """Load bytes (address, size); the answer is the bytes."""
    WAIT = 10
    """Wait for a word of a device's segment (device, value offset, status offset, sleepers offset,
    target, nanoseconds or all ones, number of the wait); answers value and status."""
    JOIN = 11
    """Map the fence pool whose file is on the socket (size); answers its address, 0 for none."""
    LEAVE = 12
    """Unmap a fence pool (address, size)."""
    WAIT_SLOT = 13
    """Wait for a word of a fence pool (address, value offset, status offset, sleepers offset,
    target, nanoseconds or all ones, number of the wait); answers value and status."""
    KEEP = 14
    """Keep the descriptor on the socket, of a memory file; answers errno, descriptor, device,
    inode. DROP_TICKET closes it."""
    START_THREAD = 15
    """Begin a thread that makes a CHANNEL_THREAD call (its number); answers errno."""
    CALL_HOST = 16
    """Call a function of the program with its argument (address, argument, number of the wait); is
    asked of such threads alone, and is a wait: the answer says nothing."""


class PlaceKind(IntEnum):
    """How memory came to be where it is."""

    ALLOCATED = 1
    """By an allocating function, or from a descriptor."""
    OPENED = 2
    """From a handle of another process."""
    MAPPED = 3
    """Physical memory in reserved addresses, or the reservation around it."""


class Watching(IntFlag):
    """What the driver wants to know of a program's calls."""

    COUNT = 1
    """The library counts them in `CallCounts`."""
    TRACE = 2
    """Every call is told: the library marks those that it sends, and sends a note of the others."""
    MARK = 4
    """Calls are marked with their thread."""
    ASK = 8
    """The library asks before each call, also of those that it answers by itself, and marks it."""
    TELL = 16
    """The library tells of the end of each call that it asked for."""


class ArgumentNote(IntEnum):
    """What a note says of an argument."""

    NUMBER = 0
    """It is this number, or pointer."""
    HANDLE = 1
    """It is the live handle that the driver knows by this number."""
    BYTES = 2
    """It is a structure by value: these bytes."""


class ChannelHeader(Record, size=512):
    """First bytes of a channel."""

    magic: int = constant(U64, CHANNEL_MAGIC, "The bytes `1EMZCHAN`.")
    slot_count: int = wire(U32, "Slots.")
    slot_size: int = wire(U32, "Bytes of a slot.")
    slots_offset: int = wire(U32, "Where the first one stands.")
    device_count: int = wire(U32, "Devices; their segments came with the welcome, in this order.")
    asleep: int = wire(U32, "1 while the driver wants the doorbell to be rung.", at=0x40)
    lost: int = wire(U32, "1 once the session has ended.")
    answers: int = wire(U32, "1 while the library may answer by itself, else 0.")
    watching: Watching = wire(U32, "What is told of calls; may change at any time.", flags=Watching)
    posted: bytes = wire(raw(4 * CHANNEL_SLOTS), "A u32 for each slot: turns taken.", at=0x80)


class SlotHeader(Record, size=64):
    """First bytes of a slot."""

    turn: int = wire(U32, "Written by the driver: the turn in `posted` that it has answered.")
    sleepers: int = wire(U32, "Written by the program: whether its thread sleeps on `turn`.")
    kind: int = wire(U32, "`MessageKind` of what follows.")
    what: int = wire(U32, "Function or `QuestionKind`.")
    size: int = wire(U32, "Bytes of data behind this header.")
    result: int = wire(U32, "`ze_result_t` of a reply.")
    text_size: int = wire(U32, "Bytes of the error description behind the data.")
    thread: int = wire(U32, "Of a marked call: its thread's number in the system.")
    began: int = wire(U64, "Of a traced call: when it began, CLOCK_MONOTONIC in nanoseconds.")


class PlacesHeader(Record, size=64):
    """First bytes of the table of places."""

    turn: int = wire(U64, "Odd while the driver changes the table.")
    count: int = wire(U32, "Entries.")
    is_kept: int = wire(U32, "1 while the entries are all that there is; 0: ask the driver.")


class Place(Record, size=48):
    """Memory that a pointer may name."""

    start: int = wire(U64, "First address.")
    size: int = wire(U64, "Bytes.")
    id: int = wire(U64, "Number of the memory, never used again.")
    page_size: int = wire(U64, "Page size.")
    kind: int = wire(U32, "`PlaceKind`.")
    type: int = wire(U32, "`ze_memory_type_t`.")
    device: int = wire(U32, "Number of its device's handle; 0: none.")


class AppendsHeader(Record, size=128):
    """First bytes of the ring of appends; both words count bytes and never go back."""

    head: int = wire(U64, "Written by the driver: bytes that it has carried out.")
    tail: int = wire(U64, "Written by the program: bytes that it has put in.", at=0x40)


class AppendRecord(Record, size=8):
    """Before the arguments of an append, which stand as in a call; a multiple of 8 bytes."""

    size: int = wire(U32, "Bytes, this header included.")
    function: int = wire(U32, "Function number, or `CHANNEL_NO_APPEND`.")


class StreamRow(Record, size=64):
    """What the library may look at of a queue or an immediate list."""

    turn: int = wire(U64, "Odd while the driver changes the row.")
    target: int = wire(U64, "Value of the ring's `completed` when all is done.")
    ring: int = wire(U64, "Where the `RingHeader` stands in the segment of the device.")
    device: int = wire(U32, "Number of the device.")
    is_known: int = wire(U32, "1 while the row says all; 0: ask the driver.")


class CallCounts(Record, size=32):
    """Calls of one function; the program's threads add to it."""

    calls: int = wire(U64, "Calls that have ended.")
    errors: int = wire(U64, "Those that ended with an error.")
    nanoseconds: int = wire(U64, "Time that they took together.")
    longest: int = wire(U64, "Time of the longest, in nanoseconds.")
