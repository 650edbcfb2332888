"""Ports: what the pure device asks of the world around it.

The shell implements them with system calls, tests with plain Python objects; fault injection wraps
them. Nothing here may raise an `OSError` into the device: failures are the two exceptions below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from device.core.pooltokens import PoolTokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.abi.handshake import DescriptorNote


class HostMemoryError(Exception):
    """The host has no memory, descriptors or mappings left; the text names the limit."""


class PagesDeniedError(Exception):
    """The system denies the device every access to a client's memory (seccomp, not dumpable)."""


class Tokens(Protocol):
    """Source of capabilities."""

    def token(self) -> bytes:
        """Return 16 bytes that nobody can guess and that were never returned before."""
        ...


class SharedFile(Protocol):
    """A sealed memory file, mapped by the device."""

    @property
    def size(self) -> int:
        """Size in bytes, a multiple of 4 KiB."""
        ...

    @property
    def identity(self) -> tuple[int, int]:
        """Two numbers that name the file itself, whatever descriptor leads to it."""
        ...

    @property
    def view(self) -> memoryview:
        """Its bytes (format "B"); writable unless the file was taken read only."""
        ...

    def close(self) -> None:
        """Give up mapping and descriptor; no exported view of `view` is in use any more."""
        ...


class SystemMemory(Protocol):
    """Maker of memory files."""

    def create(self, size: int) -> SharedFile:
        """Return a new zeroed file of `size` bytes, sealed against shrinking and growing.

        Raises:
            HostMemoryError: there is no memory, descriptor or mapping left.
        """
        ...


class RemotePages(Protocol):
    """The address space of a client's process."""

    def read_into(self, address: int, into: memoryview) -> int:
        """Read from `address` on; return the bytes moved: fewer than asked for stop at a fault."""
        ...

    def write_from(self, address: int, data: memoryview) -> int:
        """Write from `address` on; return the bytes moved: fewer than asked for stop at a fault."""
        ...

    def probe(self, address: int, size: int, *, write: bool) -> int | None:
        """Return the first address of the range that cannot be read (and written), or None.

        Raises:
            PagesDeniedError: the system denies access to this process altogether.
        """
        ...


class ClientPort(Protocol):
    """One client as the shell knows it."""

    @property
    def pid(self) -> int:
        """Its process; 0 when that stands in another PID namespace."""
        ...

    @property
    def name(self) -> str:
        """Name that it gave itself."""
        ...

    @property
    def segment(self) -> memoryview:
        """Its segment, zeroed, of the size that the device's segment plan asks for."""
        ...

    @property
    def pages(self) -> RemotePages:
        """The client's own memory."""
        ...

    def take_descriptor(self, request: int, *, read_only: bool) -> SharedFile | str | None:
        """Take the memory file that came with a request number.

        Returns:
            The file, mapped; None when no descriptor came; a sentence when one came that is not a
            sealed memory file or cannot be mapped as asked.
        """
        ...

    def identify_descriptor(self, request: int) -> tuple[int, int] | None:
        """Close the descriptor that came with a request number; return its file's `identity`.

        Returns:
            None when no descriptor came, or more than one.
        """
        ...

    def send_descriptors(self, note: DescriptorNote, files: Sequence[SharedFile]) -> bool:
        """Send memory files to the client; False when they cannot be sent."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The world of one device."""

    tokens: Tokens
    system_memory: SystemMemory
    pool_tokens: PoolTokens = field(default_factory=PoolTokens)
    """Fence pools that can be opened: the same for all devices of an emulator."""
    cpu_count: int = 1
    """CPUs of the host; waiters may spin while fewer clients than these are attached."""
