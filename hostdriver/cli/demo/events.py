"""What the processes of the demo say to each other, one JSON object a line.

The parent tells the exporter `Load`, `ReadReply` and `Finish`; exporter and importer tell the
parent events. The importer is told nothing in words: it gets the 64 bytes of the handle, and the
end of its standard input is its sign to leave.
"""

from __future__ import annotations

from typing import TypeAlias, TypeVar, final

import msgspec


@final
class Load(msgspec.Struct, frozen=True, tag=True):
    """Build a range and load these files."""

    paths: list[bytes]


@final
class ReadReply(msgspec.Struct, frozen=True, tag=True):
    """Read the reply that the importer has written."""


@final
class Finish(msgspec.Struct, frozen=True, tag=True):
    """Give everything back and end."""


Order: TypeAlias = Load | ReadReply | Finish


@final
class Command(msgspec.Struct, frozen=True):
    """One entry of a ring."""

    ring: str
    text: str
    reply: str = ""
    """What the device answered, for control commands."""


@final
class Attached(msgspec.Struct, frozen=True, tag=True):
    """A process is attached to the device."""

    pid: int
    device: str
    vram_size: int


@final
class Call(msgspec.Struct, frozen=True, tag=True):
    """One API call that has returned, and the commands that it caused."""

    function: str
    arguments: dict[str, str]
    result: str
    commands: list[Command]
    more_commands: int = 0
    """Commands that are not listed."""


@final
class Part(msgspec.Struct, frozen=True):
    """A physical object of the range."""

    object_size: int
    object_offset: int
    va: int
    size: int


@final
class Built(msgspec.Struct, frozen=True, tag=True):
    """The range is there."""

    parts: list[Part]
    window_va: int
    window_size: int


@final
class FileHash(msgspec.Struct, frozen=True):
    """A file and its hash."""

    name: str
    size: int
    sha256: str


@final
class Loaded(msgspec.Struct, frozen=True, tag=True):
    """The files are in device memory; hashes of what was read from the file system."""

    files: list[FileHash]
    objects: list[str]
    """Letters of the objects in which each file lies."""


@final
class Extent(msgspec.Struct, frozen=True):
    """Neighbouring pages, as a walk of the page table finds them."""

    va: int
    size: int
    aperture: str
    address: int
    level: int
    """Level of the first page's entry."""
    page_size: int
    """Size of the first page."""
    rights: str


@final
class Tables(msgspec.Struct, frozen=True, tag=True):
    """What a process's page table says of the window's pages."""

    extents: list[Extent]
    total: int
    """Extents there are, listed or not."""


@final
class Exported(msgspec.Struct, frozen=True, tag=True):
    """The window is exported."""

    handle: bytes


@final
class Opened(msgspec.Struct, frozen=True, tag=True):
    """The importer has opened the handle and asked for the range."""

    received: int
    """Bytes that it was given."""
    va: int
    size: int


@final
class Verified(msgspec.Struct, frozen=True, tag=True):
    """Hashes of what the importer read through its own page table, and those of the manifest."""

    files: list[FileHash]
    expected: list[str]

    @property
    def all_equal(self) -> bool:
        """Whether every file arrived."""
        return [file.sha256 for file in self.files] == self.expected


@final
class Replied(msgspec.Struct, frozen=True, tag=True):
    """The importer has written its reply into the window."""

    text: str


@final
class ReplySeen(msgspec.Struct, frozen=True, tag=True):
    """The exporter has read a reply through its own mapping."""

    text: str
    is_right: bool
    """Whether it shows that the writer knows every hash."""


@final
class Finished(msgspec.Struct, frozen=True, tag=True):
    """A process has given everything back."""

    received: int = 0
    """Bytes that the importer was given in all."""


@final
class Said(msgspec.Struct, frozen=True, tag=True):
    """A line that an example printed."""

    text: str


@final
class Told(msgspec.Struct, frozen=True):
    """What a process of an example did: it called a function, or printed a line."""

    who: str
    what: Call | Said


Event: TypeAlias = (
    Attached
    | Call
    | Built
    | Loaded
    | Tables
    | Exported
    | Opened
    | Verified
    | Replied
    | ReplySeen
    | Finished
)
MessageT = TypeVar("MessageT")

_EVENTS = msgspec.json.Decoder(Event)
_TOLD = msgspec.json.Decoder(Told)
_ORDERS = msgspec.json.Decoder(Order)


def encode(message: Event | Order | Told) -> bytes:
    """Return a message as a line."""
    return msgspec.json.encode(message) + b"\n"


def decode_event(line: bytes) -> Event:
    """Return the event in a line.

    Raises:
        msgspec.MsgspecError: it holds none.
    """
    return _EVENTS.decode(line)


def decode_told(line: bytes) -> Told:
    """Return what an example told in a line.

    Raises:
        msgspec.MsgspecError: it holds nothing of that kind.
    """
    return _TOLD.decode(line)


def decode_order(line: bytes) -> Order:
    """Return the order in a line.

    Raises:
        msgspec.MsgspecError: it holds none.
    """
    return _ORDERS.decode(line)
