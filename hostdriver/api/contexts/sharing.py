"""Memory that a context shares with other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.api import exporting, external_handles, opening
from hostdriver.api.contexts.base import ContextBase
from hostdriver.api.physical_handle import memory_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

    from hostdriver.api.device import Device
    from hostdriver.api.physical_handle import PhysicalMem
    from hostdriver.api.structures import ChainedDesc, UnknownDesc


class Sharing(ContextBase):
    """Functions zeMem about IPC handles."""

    __slots__ = ()

    def mem_get_ipc_handle(self, ptr: int | PhysicalMem | None) -> bytes:
        """Return the 64 bytes that name the memory which begins at `ptr`, or a physical object."""
        source = memory_of(ptr)
        return self.run(lambda state: exporting.get_handle(state, source))

    def mem_get_ipc_handle_with_properties(
        self, ptr: int | PhysicalMem | None, p_next: Sequence[ChainedDesc | UnknownDesc] = ()
    ) -> bytes:
        """Return 64 bytes that name memory; with a range descriptor, any window from `ptr` on."""
        source = memory_of(ptr)
        return self.run(lambda state: exporting.get_handle(state, source, p_next))

    def mem_get_ipc_handle_from_file_descriptor_exp(self, descriptor: int) -> bytes:
        """Return 64 bytes that name the memory of a descriptor."""
        return self.run(lambda s: external_handles.handle_from_descriptor(s, descriptor))

    def mem_get_file_descriptor_from_ipc_handle_exp(self, handle: Buffer) -> int:
        """Return the descriptor in a handle; it stays the driver's."""
        return self.run(lambda s: external_handles.descriptor_from_handle(s, bytes(handle)))

    def mem_put_ipc_handle(self, handle: Buffer) -> None:
        """Give a handle back: it opens no more."""
        self.run(lambda state: exporting.put_handle(state, bytes(handle)))

    def mem_open_ipc_handle(self, device: Device | None, handle: Buffer, flags: int = 0) -> int:
        """Open exported memory; return where its window begins in this process."""
        index = self.index_of(device)
        return self.run(lambda state: opening.open_handle(state, index, bytes(handle), flags))

    def mem_close_ipc_handle(self, ptr: int | None) -> None:
        """Close opened memory, by the pointer that opening returned."""
        self.run(lambda state: opening.close_handle(state, ptr))
