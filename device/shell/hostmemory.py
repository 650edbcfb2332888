"""The ports of the device, by system calls: memory files, tokens, the clients' own pages."""

from __future__ import annotations

import os
import resource
import secrets
from typing import TYPE_CHECKING, Final, final

from device.core.ports import HostMemoryError, PagesDeniedError
from device.shell.limits import most_mappings, physical_bytes
from firmware.link.errors import LinkError
from firmware.link.linux import areas_of, map_file, read_process, write_process
from firmware.link.sealed import check_sealed, create_sealed

if TYPE_CHECKING:
    from collections.abc import Callable

RESERVED: Final = 1024
"""Descriptors and mappings that are left for links, threads and memory of the process itself."""
MOST_BYTES: Final = 1 << 46
"""Addresses for memory files: half of those that a process has."""
MOST_AREAS: Final = 1024
"""Mappings of a client that are looked at for one request: each takes some microseconds."""
LARGE_BYTES: Final = 16 << 20
"""From here on the system may take milliseconds to free a file's pages, a second for gigabytes."""


@final
class MemoryFile:
    """A sealed memory file with one mapping and one descriptor of this process.

    Owner: the device core, which calls `close` once nothing uses `view` any more.
    """

    __slots__ = ("_closed", "_mapping", "_released", "descriptor", "size")

    def __init__(
        self,
        descriptor: int,
        size: int,
        *,
        writable: bool = True,
        released: Callable[[MemoryFile], None],
    ) -> None:
        """Take over `descriptor`; `released` is told when it is closed, and sees to `give_back`.

        Raises:
            OSError: no mappings left; the descriptor is still the caller's.
        """
        self._mapping = map_file(descriptor, size, writable=writable)
        self._released = released
        self._closed = False
        self.descriptor = descriptor
        self.size = size

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode: what no other file has."""
        return identity_of(self.descriptor)

    @property
    def view(self) -> memoryview:
        """Its bytes (ValueError: after `close`)."""
        if self._closed:
            raise ValueError("the view of a closed memory file was released")
        return self._mapping.view

    @property
    def address(self) -> int:
        """Address of its first byte; 0 after `close`."""
        return 0 if self._closed else self._mapping.address

    def close(self) -> None:
        """Give up mapping and descriptor; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._released(self)

    def give_back(self) -> None:
        """Unmap and close the closed file, once; it may take long, and be done in any thread."""
        self._mapping.close()
        os.close(self.descriptor)


def identity_of(descriptor: int) -> tuple[int, int]:
    """Return the numbers that tell the file behind a descriptor from all others.

    Raises:
        OSError: the descriptor is not open.
    """
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _at_once(chore: Callable[[], None]) -> None:
    chore()


@final
class HostMemory:
    """Maker and taker of the memory files that device and clients map.

    Owner: the emulator. Invariant: `_count` files of `_bytes` bytes are open. It leaves part of
    the process's descriptors, mappings and addresses alone, so that no client can have them all:
    others could not even attach then.
    """

    __slots__ = ("_bytes", "_count", "_defer", "_most_mappings", "_physical_bytes")

    def __init__(self, defer: Callable[[Callable[[], None]], None] = _at_once) -> None:
        """Make files; `defer` does later what takes long, which is to give large ones back."""
        self._defer = defer
        self._count = 0
        self._bytes = 0
        self._most_mappings = most_mappings()
        self._physical_bytes = physical_bytes()

    @property
    def file_count(self) -> int:
        """Files that are open."""
        return self._count

    def create(self, size: int) -> MemoryFile:
        """Return a new zeroed, sealed file.

        Raises:
            HostMemoryError: no memory, descriptors or mappings left; nothing was made.
        """
        self._check_room(size)
        try:
            descriptor = create_sealed("emuzero-system-memory", size)
        except OSError as error:
            raise HostMemoryError(f"no memory file of {size:#x} bytes: {error}") from error
        return self._take(descriptor, size, writable=True)

    def adopt(self, descriptor: int, *, read_only: bool) -> MemoryFile | str:
        """Take over a descriptor that a client passed and map it.

        Returns:
            The file; or a sentence that says why it cannot be mapped, and the descriptor is closed.
        """
        try:
            size = check_sealed(descriptor)
            self._check_room(size)
        except (LinkError, OSError, HostMemoryError) as error:
            os.close(descriptor)
            return str(error)
        try:
            return self._take(descriptor, size, writable=not read_only)
        except HostMemoryError as error:
            return str(error)

    def _check_room(self, size: int) -> None:
        """Raise HostMemoryError when one more file of this size would leave too little."""
        if size > self._physical_bytes:
            raise HostMemoryError(
                f"{size:#x} bytes are more than this machine has, {self._physical_bytes:#x}"
            )
        if self._bytes + size > MOST_BYTES:
            raise HostMemoryError(f"{size:#x} bytes, {self._bytes:#x} of {MOST_BYTES:#x} are taken")
        limit = min(self._most_mappings, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        if self._count >= limit - min(RESERVED, limit // 2):
            raise HostMemoryError(
                f"{size:#x} bytes in one more memory file, there are {self._count}: the limit of"
                f" descriptors or mappings of the emulator is {limit}"
            )

    def _take(self, descriptor: int, size: int, *, writable: bool) -> MemoryFile:
        try:
            file = MemoryFile(descriptor, size, writable=writable, released=self._released)
        except OSError as error:
            os.close(descriptor)
            raise HostMemoryError(f"no mapping of {size:#x} bytes: {error}") from error
        self._count += 1
        self._bytes += size
        return file

    def _released(self, file: MemoryFile) -> None:
        self._count -= 1
        self._bytes -= file.size
        if file.size < LARGE_BYTES:
            file.give_back()
        else:
            self._defer(file.give_back)


@final
class SystemTokens:
    """Capabilities from the system's random source, never from a run's seed."""

    def token(self) -> bytes:
        """Return 128 random bits."""
        return secrets.token_bytes(16)


@final
class ProcessPages:
    """The address space of a client's process, reached by process_vm_readv and -writev.

    A process that ended or may not be looked into has no pages: transfers move nothing.
    """

    __slots__ = ("_pid",)

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def read_into(self, address: int, into: memoryview) -> int:
        """Read from `address` on; fewer bytes than asked for stop at the first that is missing."""
        try:
            return read_process(self._pid, address, into) if self._pid else 0
        except OSError:
            return 0

    def write_from(self, address: int, data: memoryview) -> int:
        """Write from `address` on; fewer bytes than asked for stop at the first that is missing."""
        try:
            return write_process(self._pid, address, data) if self._pid else 0
        except OSError:
            return 0

    def probe(self, address: int, size: int, *, write: bool) -> int | None:
        """Return the first address of the range that cannot be read (and written), or None.

        Raises:
            PagesDeniedError: the system denies access to this process altogether, or the range is
                larger or in more pieces than the device takes.
        """
        if not self._pid:
            raise PagesDeniedError("the client's process is in another PID namespace")
        try:
            bad = self._first_bad(address, size, write=write)
        except OSError as error:
            raise PagesDeniedError(
                f"process {self._pid} does not let the device reach its memory: {error}"
            ) from error
        if bad is None and size > physical_bytes():
            raise PagesDeniedError(f"{size:#x} bytes are more than this machine has")
        return bad

    def _first_bad(self, address: int, size: int, *, write: bool) -> int | None:
        position = address
        byte = memoryview(bytearray(1))
        areas = areas_of(self._pid, address, size, MOST_AREAS)
        for area in areas:
            if area.start > position or not area.readable or (write and not area.writable):
                return position
            # Special mappings (devices, guard pages) deny what the table promises.
            if read_process(self._pid, position, byte) != 1:
                return position
            position = area.end
        if position < address + size and len(areas) == MOST_AREAS:
            raise PagesDeniedError(
                f"{size:#x} bytes at {address:#x} consist of more than {MOST_AREAS} mappings"
            )
        return None if position >= address + size else position
