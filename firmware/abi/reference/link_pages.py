"""Pages about what is shared and how it crosses: handshake, segment, registers, rings, tables."""

from typing import Final

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
from firmware.abi.handshake import DescriptorNote, HandshakeStatus, Hello, Purpose, Welcome
from firmware.abi.ids import PageSizes, Rights
from firmware.abi.paging import Aperture, Pde, Pte
from firmware.abi.reference.page import Page
from firmware.abi.registers import AbiVersion, BootError, DeviceStatus, FaultStatus, Phase
from firmware.abi.rings import Doorbell, RingHeader, RingState
from firmware.abi.segment import FenceSlot, SpecBlock, Superblock
from firmware.abi.trace import TraceHeader, TraceKind, TraceRecord

_HANDSHAKE: Final = """
A client connects to the device's Unix socket (`SOCK_SEQPACKET`: one message is one packet) and
sends `Hello`. The device answers `Welcome`. When its status is `OK`, three descriptors ride on that
packet, in this order:

1. the segment, a memory file sealed against shrinking and growing,
2. the doorbell eventfd, which the client writes after a doorbell word,
3. the interrupt socket, readable while the interrupt is raised; the bytes in it mean nothing.

After that the socket carries `DescriptorNote` packets with the descriptors of one control command
each, in either direction, and nothing else. A receiver checks the number of descriptors and the
truncation flag of the packet. A client is dead when its process ends or its socket hangs up,
whichever is seen first; everything that it owned is then given back.

Magic and versions of `Hello` stay at their offsets in every major version, so that a device can
answer `VERSION` to a driver that it does not understand. See [versions](README.md#versions).
"""

_SEGMENT: Final = """
One memory file for each client, made and sealed by the device. The superblock stands at offset 0
and says where all other parts are; a client takes every offset from it and computes none. All
offsets are bytes from the start of the segment and multiples of 64.

| Part | Who stores |
| --- | --- |
| superblock, specification block | the device, before the client sees them |
| [register page](registers.md) | the device, save for host-writable registers |
| doorbell words | the client |
| [control, reply and fault ring](rings.md) | each line of a header has one writer |
| fence slots | the device; the client stores `host_sleepers` |
| pool of work rings | the device places rings there, see `QueueCreated` |
| payload area | the client; the device for results of a command that asked for them |

The device trusts nothing that a client can store.
"""

_FENCES: Final = """
## Fences

A *fence* is a place, a *seqno* the value in it. It is signalled for a target when
`value >= target`, on all 64 bits; values only grow. `FENCE_WRITE` stores a value, `FENCE_WAIT`
holds a ring until it is reached. A host thread that waits

1. adds one to `host_sleepers`,
2. makes a store-load fence,
3. loads `value` again, and sleeps on its low half (shared futex) if the target is not reached, for
   at most 100 ms at a time, looking at the device in between,
4. takes its one off `host_sleepers`.
"""

_REGISTERS: Final = """
The register page of a segment is the client's view of its device. Nothing traps in shared memory:
the device publishes values there and takes host stores to writable registers when a doorbell rings.
It never reads back what it publishes.
"""

_FAULT_STATUS: Final = """
To acknowledge faults the host stores the bits that it saw together with `acknowledge`, rings the
doorbell of the control ring, then empties the fault ring. `dropped` is cleared with `overflow`.
To reset the device it stores a value other than the present one in `RESET_REQUEST` and rings; every
client that was attached then sees `client_lost`.
"""

_TABLES: Final = """
Page tables stand in device memory as the 64-bit entries described here; the walker reads these very
bits. A table has 512 entries of 8 bytes. A walk begins at level 3 with the root table of the
address space and takes nine bits of the address at each level:

```
 63      48 47      39 38      30 29      21 20      12 11         0
+----------+----------+----------+----------+----------+------------+
| must be 0| level 3  | level 2  | level 1  | level 0  |   offset   |
+----------+----------+----------+----------+----------+------------+
             root                                page
```
"""

_TABLE_RULES: Final = """
## Rules

- An entry whose `valid` bit is clear must be zero in all bits; it ends the walk with NOT_PRESENT.
- `leaf` set ends the walk: the entry is a `Pte`. Clear, it is a `Pde`, and level 0 has none.
- A 64 KiB page is sixteen level-0 entries that begin at a multiple of sixteen, all with
  `contiguous` set and consecutive frames; a torn group is a malformed entry.
- A leaf of level 1 or 2 has a frame number that is a multiple of its size.
- A `null` page has no memory behind it: loads give zero, stores are dropped.
- Reserved bits and unknown choices are a malformed entry: the access faults with MALFORMED_ENTRY.
- Rights are checked at the leaf. The frame of a `Pde` is always in local device memory.

Translations are cached in a TLB for each address space. *Invalidate* forgets them there; UNMAP,
PROTECT and TLB_INVALIDATE are answered when every engine has acknowledged that it uses the old ones
no more (a *shootdown*). Frames are free for others only after that.
"""

_RINGS: Final = """
A ring is a power-of-two array of fixed-size entries that follows its header. `tail` belongs to the
producer, `head` to the consumer; both are free-running 32-bit indices:

    slot            = index mod entry_count
    entries waiting = (tail - head) mod 2^32      full when that equals entry_count

More waiting than `entry_count` is a contract error (`BAD_TAIL`) that stops this ring alone.
`completed`, the fields behind it and `state` are published by the device.

| Ring | Producer | Entries |
| --- | --- | --- |
| control | client | [control commands](control_commands.md), 64 bytes |
| reply | device | [replies](replies.md), 64 bytes |
| fault | device | [fault records](faults.md), 64 bytes |
| work | client | [work commands](work_commands.md), 64 bytes |
"""

_RING_RULES: Final = """
## Order of stores

- **INV-RING-1**: only the producer stores into the producer's cache line, only the consumer into
  the consumer's.
- **INV-RING-2**: entries, then tail, then doorbell word, then fence, then a look at the peer's
  event index. Each side keeps its own index privately and only publishes it.
- **INV-RING-3**: a peer's index is read once into a local, bounded, then used.

Every shared index is stored with one aligned store of its full width.

## Notices

Whoever waits for an index publishes the event index at which it wants to be told, makes a
store-load fence, looks again, and only then sleeps. Whoever moves an index from `old` to `new`
makes a fence, loads the peer's event index once and tells the peer when

    (new - event - 1) mod 2^32  <  (new - old) mod 2^32

An event index of `index - 1` asks for no notice for as long as possible. A doorbell is a hint: five
rings may arrive as one, and all state is in the ring.
"""

_BOOT: Final = """
A firmware image is a 64-bit little-endian ELF executable for RISC-V. The device loads its segments
and reads two things that are described here: the ABI note (owner `emuzero`, section
`.note.emuzero`) and the limits (section `.emuzero.limits`). An image that is refused leaves the
device in phase BOOT, with the reason in [STATUS](registers.md#devicestatus) and BOOT_DETAIL.
"""

_CHANNEL: Final = """
A C program has no driver in its process. It attaches with purpose PROGRAM and gets a *channel*:
one sealed memory file with a header and slots. A call takes a slot; the program stores the message,
then its word in `posted`, makes a fence, and rings the doorbell if `asleep` is set. It waits until
the slot's `turn` is what it posted: it spins for a moment, then sleeps on `turn` with `sleepers`
set (set, fence, look again, sleep), a tenth of a second at a time, and looks whether the driver
still lives. What stands in the slot then is the REPLY, or a QUESTION about the program's own
process, which the same thread answers in the next turn.

Data of calls and replies are items of eight bytes each, in the order of the function's parameters.
A descriptor that a question needs comes over the socket before, in a `DescriptorNote` whose request
is the slot's number.
"""

_APPENDS: Final = """
## Appends

An append to a regular command list with which nothing can be wrong is no call: the program puts an
`AppendRecord` and the arguments, as they stand in a call, behind the bytes that `tail` counts, and
stores `tail` anew. Before the driver looks at a message in a slot it carries out all that stands
between `head` and `tail`. A record does not go round the end of the ring; one of
`CHANNEL_NO_APPEND` fills what is left there.
"""

_WATCHING: Final = """
## Watching

The driver sets `watching` before the program's first call. With `COUNT` the library adds each call
to the `CallCounts` of its function, behind the slots. With `TRACE` it stores thread and begin of
each call beside its message, and tells of the calls that it answers by itself in a note.
"""

_TRACE: Final = """
One header, then records, each with its payload behind it. Records of one program stand in the order
in which the driver saw them; a record of a call has the call's number.
"""

LINK_PAGES: Final = (
    Page(
        "handshake.md",
        "Handshake",
        "How a client attaches: packets on the socket, versions and descriptors.",
        (_HANDSHAKE, Hello, Welcome, DescriptorNote, HandshakeStatus, Purpose),
    ),
    Page(
        "segment.md",
        "Shared segment",
        "The memory that a client shares with the device: superblock, specification, fences.",
        (_SEGMENT, Superblock, SpecBlock, _FENCES, FenceSlot, "## Extensions", "@extensions"),
    ),
    Page(
        "registers.md",
        "Registers",
        "The register page: offsets, access and bits.",
        (
            _REGISTERS,
            "@registers",
            "@access",
            _FAULT_STATUS,
            DeviceStatus,
            FaultStatus,
            AbiVersion,
            Phase,
            BootError,
        ),
    ),
    Page(
        "page_tables.md",
        "Page tables",
        "Four levels of 64-bit entries: bits, geometry and rules.",
        (_TABLES, "@levels", Pte, Pde, Aperture, Rights, PageSizes, _TABLE_RULES),
    ),
    Page(
        "rings.md",
        "Rings and doorbells",
        "Ring headers, index arithmetic, order of stores and notices.",
        (_RINGS, RingHeader, RingState, Doorbell, _RING_RULES),
    ),
    Page(
        "channel.md",
        "Call channel",
        "How a C program calls a driver that runs in the emulator.",
        (
            *(_CHANNEL, ChannelHeader, SlotHeader, MessageKind, QuestionKind),
            *(PlacesHeader, Place, PlaceKind),
            *(_APPENDS, AppendsHeader, AppendRecord, StreamRow),
            *(_WATCHING, Watching, ArgumentNote, CallCounts),
        ),
    ),
    Page(
        "trace.md",
        "Traces",
        "The stream that `emuzero trace` keeps: calls, their commands, and what came of them.",
        (_TRACE, TraceHeader, TraceRecord, TraceKind),
    ),
    Page(
        "boot.md",
        "Firmware images",
        "Records inside a firmware image: ABI note and limits.",
        (_BOOT, FirmwareNote, Behaviour, FirmwareLimits),
    ),
)
"""These pages, in reading order."""
