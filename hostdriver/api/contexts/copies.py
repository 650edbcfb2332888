"""Copies of a context for a caller who waits, and the CPU's view of host memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.api import memory
from hostdriver.api.contexts.base import ContextBase

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Copies(ContextBase):
    """What programs would do with an immediate command list, in one call."""

    __slots__ = ()

    def memory_copy(self, destination: int | None, source: int | None, size: int) -> None:
        """Copy between two device-visible ranges; return when it is done."""
        self.work_on(lambda state: memory.copy(state, destination, source, size))

    def memory_fill(self, destination: int | None, pattern: bytes, size: int) -> None:
        """Fill a device-visible range with a pattern; return when it is done."""
        self.work_on(lambda state: memory.fill(state, destination, pattern, size))

    def memory_write(self, destination: int | None, data: Buffer) -> None:
        """Copy bytes to device-visible memory; return when they are there."""
        view = memoryview(data).cast("B")
        self.work_on(lambda state: memory.write(state, destination, view))

    def memory_read(self, source: int | None, size: int) -> bytes:
        """Return a copy of device-visible memory."""
        into = bytearray(size)
        self.memory_read_into(source, into)
        return bytes(into)

    def memory_read_into(self, source: int | None, into: Buffer) -> None:
        """Copy device-visible memory into a writable buffer; return when it is there."""
        view = memoryview(into).cast("B")
        self.work_on(lambda state: memory.read(state, source, view))

    def host_view(self, ptr: int | None, size: int) -> memoryview:
        """Return host memory for the CPU, without a copy, at its own address.

        It must not be used when the memory is unmapped, as with any pointer.
        """
        return self.driver.view(lambda state: memory.check_host_range(state, ptr, size), size)
