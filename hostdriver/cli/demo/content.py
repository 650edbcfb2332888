"""What stands in the window besides the files: header, manifest, reply.

Exporter and importer agree on this and on nothing else; it is no part of the device's contract.
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING, Final, NamedTuple, final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAGIC: Final = b"EMZDEMO1"
_HEADER: Final = struct.Struct("<8sQQ")
HEADER_SIZE: Final = _HEADER.size
REPLY_SIZE: Final = 256
NO_HASH: Final = "0" * 64
"""Stands for a hash that is not known yet: as long as any."""
_LARGEST: Final = (1 << 63) - 1


class BadContent(Exception):
    """The window does not hold what an exporter of this program puts there."""


class Header(NamedTuple):
    """First bytes of the window."""

    window_size: int
    manifest_size: int

    def pack(self) -> bytes:
        """Return its bytes."""
        return _HEADER.pack(MAGIC, self.window_size, self.manifest_size)


@final
class Entry(msgspec.Struct, frozen=True):
    """One file in the manifest."""

    name: str
    size: int
    offset: int
    """First byte in the window."""
    sha256: str

    @property
    def end(self) -> int:
        """First byte behind it."""
        return self.offset + self.size


def manifest_room(names: Sequence[str], sizes: Sequence[int]) -> int:
    """Return how many bytes the manifest of these files needs, wherever they will lie."""
    pairs = zip(names, sizes, strict=True)
    return len(msgspec.json.encode([Entry(name, size, _LARGEST, NO_HASH) for name, size in pairs]))


def pack_manifest(entries: Sequence[Entry], room: int) -> bytes:
    """Return the manifest, with spaces up to `room` bytes."""
    return msgspec.json.encode(entries).ljust(room)


def read_header(data: bytes, window_size: int) -> Header:
    """Return the header of a window.

    Args:
        data: first bytes of the window.
        window_size: size of the window as the driver tells it.

    Raises:
        BadContent: it is none, or tells another size.
    """
    magic, told, manifest_size = _HEADER.unpack(data)
    if magic != MAGIC:
        raise BadContent(f"the window begins with {magic!r}, expected {MAGIC!r}")
    if told != window_size:
        raise BadContent(f"the window has {window_size} bytes, its header tells {told}")
    if HEADER_SIZE + manifest_size + REPLY_SIZE > window_size:
        raise BadContent(f"a manifest of {manifest_size} bytes leaves the window")
    return Header(window_size, manifest_size)


def read_manifest(data: bytes, window_size: int) -> list[Entry]:
    """Return the files that a manifest lists.

    Raises:
        BadContent: it is malformed, or a file leaves the window.
    """
    try:
        entries = msgspec.json.decode(data, type=list[Entry])
    except msgspec.MsgspecError as error:
        raise BadContent(f"the manifest is malformed: {error}") from error
    for entry in entries:
        if entry.size < 0 or entry.offset < 0 or entry.end > window_size - REPLY_SIZE:
            raise BadContent(
                f"{entry.name}: {entry.size} bytes at {entry.offset} leave the window of"
                f" {window_size} bytes"
            )
    return entries


def digest_of(hashes: Iterable[str]) -> str:
    """Return the SHA-256 over hashes in hex, by which a reply shows that it knows them all."""
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def make_reply(hashes: Sequence[str], pid: int) -> bytes:
    """Return the bytes that an importer with these hashes writes."""
    noun = "file" if len(hashes) == 1 else "files"
    text = f"process {pid} read {len(hashes)} {noun}; SHA-256 of their hashes: {digest_of(hashes)}"
    return text.encode().ljust(REPLY_SIZE, b"\0")


def read_reply(data: bytes) -> str:
    """Return a reply as text that is safe to show."""
    text = data.rstrip(b"\0").decode(errors="replace")
    return "".join(letter if letter.isprintable() else "?" for letter in text)
