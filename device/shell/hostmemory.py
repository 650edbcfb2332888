"""The ports of the device, by system calls: memory files, tokens, the clients' own pages."""

from __future__ import annotations

import os
import secrets
from typing import final

from device.core.ports import HostMemoryError, PagesDeniedError
from firmware.link.errors import LinkError
from firmware.link.linux import areas_of, map_file, read_process, write_process
from firmware.link.sealed import check_sealed, create_sealed


@final
class MemoryFile:
    """A sealed memory file with one mapping and one descriptor of this process.

    Owner: the device core, which calls `close` once nothing uses `view` any more.
    """

    __slots__ = ("_mapping", "descriptor", "size")

    def __init__(self, descriptor: int, size: int, *, writable: bool = True) -> None:
        """Take over `descriptor`.

        Raises:
            OSError: no mappings left; the descriptor is still the caller's.
        """
        self._mapping = map_file(descriptor, size, writable=writable)
        self.descriptor = descriptor
        self.size = size

    @property
    def view(self) -> memoryview:
        """Its bytes."""
        return self._mapping.view

    def close(self) -> None:
        """Give up mapping and descriptor; a second call does nothing."""
        self._mapping.close()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


@final
class HostMemory:
    """Maker of the memory files that device and clients map."""

    def create(self, size: int) -> MemoryFile:
        """Return a new zeroed, sealed file.

        Raises:
            HostMemoryError: no memory, descriptors or mappings left; nothing was made.
        """
        try:
            descriptor = create_sealed("emuzero-system-memory", size)
        except OSError as error:
            raise HostMemoryError(f"no memory file of {size:#x} bytes: {error}") from error
        return _adopted(descriptor, size, writable=True)


def adopt(descriptor: int, *, read_only: bool) -> MemoryFile | str:
    """Take over a descriptor that a client passed and map it.

    Returns:
        The file; or a sentence that says why it cannot be mapped, and the descriptor is closed.
    """
    try:
        size = check_sealed(descriptor)
        return _adopted(descriptor, size, writable=not read_only)
    except (LinkError, OSError, HostMemoryError) as error:
        if not isinstance(error, HostMemoryError):
            os.close(descriptor)
        return str(error)


def _adopted(descriptor: int, size: int, *, writable: bool) -> MemoryFile:
    try:
        return MemoryFile(descriptor, size, writable=writable)
    except OSError as error:
        os.close(descriptor)
        raise HostMemoryError(f"no mapping of {size:#x} bytes: {error}") from error


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
            PagesDeniedError: the system denies access to this process altogether.
        """
        if not self._pid:
            raise PagesDeniedError("the client's process is in another PID namespace")
        try:
            return self._first_bad(address, size, write=write)
        except OSError as error:
            raise PagesDeniedError(
                f"process {self._pid} does not let the device reach its memory: {error}"
            ) from error

    def _first_bad(self, address: int, size: int, *, write: bool) -> int | None:
        position = address
        byte = memoryview(bytearray(1))
        for area in areas_of(self._pid, address, size):
            if area.start > position or not area.readable or (write and not area.writable):
                return position
            # Special mappings (devices, guard pages) deny what the table promises.
            if read_process(self._pid, position, byte) != 1:
                return position
            position = area.end
        return None if position >= address + size else position
