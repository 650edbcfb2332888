"""Makes memory objects out of frames, memory files and clients' pages, and frees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from device.core.errors import DeviceError, InvariantError, MemoryFault
from device.core.memory import FileWindow, PagesWindow
from device.core.objects import MemoryObject
from device.core.ports import HostMemoryError
from device.core.storechecks import check_flags, check_kind, check_size, probe
from firmware.abi.control import ObjectFlags, ObjectKind
from firmware.abi.handshake import DescriptorNote
from firmware.abi.ids import PAGE_SIZE, Feature
from firmware.abi.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from device.core.clients import Client
    from device.core.configuration import Configuration
    from device.core.ids import Ids
    from device.core.memory import MemoryController, Window
    from device.core.ports import SystemMemory

_ADDRESS_LIMIT = 1 << 64


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """What is alive now."""

    object_count: int
    """Objects, those included that only exports hold."""
    vram_bytes: int
    """Device memory charged for them."""


@final
class ObjectStore:
    """Every memory object of the device.

    Owner: the device. Invariants: an object is here as long as anything holds it; its frames, bus
    window and file are its own, and are given back in the same step in which it goes. A device
    reset ends all clients, so that the store is empty once the last chunk in flight is done.
    """

    def __init__(
        self,
        memory: MemoryController,
        system_memory: SystemMemory,
        configuration: Configuration,
        ids: Ids,
    ) -> None:
        self._memory = memory
        self.system_memory = system_memory
        """Makes memory files; something may come in between."""
        self._configuration = configuration
        self._ids = ids
        sizes = [int(size) for size in configuration.spec.page_sizes]
        self._page_sizes = sorted(sizes, reverse=True)
        self._live: dict[int, MemoryObject] = {}

    def __iter__(self) -> Iterator[MemoryObject]:
        return iter(self._live.values())

    def __len__(self) -> int:
        return len(self._live)

    def create(
        self,
        client: Client,
        request: int,
        kind: ObjectKind,
        flags: ObjectFlags,
        size: int,
        page_size: int,
    ) -> MemoryObject:
        """Make an object for a client; a memory file is on its way to the client then.

        Arguments and errors are those of `make` and `deliver`.
        """
        memory = self.make(client, kind, flags, size, page_size)
        try:
            self.deliver(client, request, memory)
        except DeviceError:
            self.destroy(client, memory.object_id, registered=False)
            raise
        return memory

    def make(
        self, client: Client, kind: ObjectKind, flags: ObjectFlags, size: int, page_size: int
    ) -> MemoryObject:
        """Make an object for a client, who is to get its memory file, if any, by `deliver`.

        Args:
            client: who will own it.
            kind: VRAM or SYSTEM.
            flags: DATA_DESCRIPTOR (VRAM only) or READ_ONLY (SYSTEM only).
            size: bytes, a multiple of 4 KiB.
            page_size: preferred leaf size, or 0.

        Raises:
            DeviceError: UNSUPPORTED, BAD_RANGE, BAD_ALIGNMENT, LIMIT, OUT_OF_DEVICE_MEMORY,
                OUT_OF_HOST_MEMORY.
        """
        check_kind(kind, flags)
        check_size(size)
        if page_size and page_size not in self._page_sizes:
            raise DeviceError(Status.BAD_ALIGNMENT, page_size, sum(self._page_sizes))
        self._check_count(client)
        memory = self._new(client, kind, flags, size)
        if kind is ObjectKind.VRAM and flags is ObjectFlags.NONE:
            runs = self._memory.allocate(size, client.client_id, page_size or PAGE_SIZE)
            memory.place_in_vram(runs, self._page_sizes)
        else:
            self._place_in_file(client, memory)
        return self._enter(client, memory)

    def deliver(self, client: Client, request: int, memory: MemoryObject) -> None:
        """Send a new object's memory file, if it has one, to its client.

        Args:
            client: who owns it.
            request: number of the request, which the descriptor travels under.
            memory: the object.

        Raises:
            DeviceError: OUT_OF_HOST_MEMORY when the file cannot be sent.
        """
        if memory.file is None:
            return
        note = DescriptorNote(
            request=request, count=1, object_id=memory.object_id, size_bytes=memory.size
        )
        if not client.port.send_descriptors(note, [memory.file]):
            raise DeviceError(Status.OUT_OF_HOST_MEMORY, memory.size)

    def register_file(
        self, client: Client, request: int, flags: ObjectFlags, offset: int, size: int
    ) -> MemoryObject:
        """Make an object of the memory file that a client passed under a request number.

        Raises:
            DeviceError: BAD_RANGE, BAD_ALIGNMENT, UNSUPPORTED, LIMIT; BAD_DESCRIPTOR (detail: size
                of the file) when none came, or one that is not sealed memory or too small.
        """
        read_only = flags is ObjectFlags.READ_ONLY
        # The file is taken whatever becomes of the request, or it would wait for ever.
        file = client.port.take_descriptor(request, read_only=read_only)
        if file is None or isinstance(file, str):
            raise DeviceError(Status.BAD_DESCRIPTOR)
        try:
            check_flags(flags, ObjectFlags.READ_ONLY)
            check_size(size)
            if offset % PAGE_SIZE:
                raise DeviceError(Status.BAD_ALIGNMENT, offset, PAGE_SIZE)
            if offset + size > file.size:
                raise DeviceError(Status.BAD_DESCRIPTOR, file.size, offset + size)
            self._check_count(client)
            memory = self._new(client, ObjectKind.CLIENT_DESCRIPTOR, flags, size)
            window = FileWindow(file.view[offset : offset + size], read_only=read_only)
            self._place_on_bus(memory, window)
        except DeviceError:
            file.close()
            raise
        memory.file, memory.file_offset = file, offset
        return self._enter(client, memory)

    def register_pages(
        self, client: Client, flags: ObjectFlags, address: int, size: int
    ) -> MemoryObject:
        """Make an object of pages of a client's own address space, any number of times.

        Its bus address is such that the pages, mapped where they stand in the client, fill leaves
        as large as their size allows.

        Raises:
            DeviceError: BAD_RANGE, BAD_ALIGNMENT, UNSUPPORTED, LIMIT; CLIENT_MEMORY (detail: first
                address that cannot be reached); PERMISSION.
        """
        check_flags(flags, ObjectFlags.READ_ONLY)
        if not client.features & Feature.CLIENT_MEMORY:
            raise DeviceError(Status.UNSUPPORTED, ObjectKind.CLIENT_PAGES)
        check_size(size)
        if address % PAGE_SIZE:
            raise DeviceError(Status.BAD_ALIGNMENT, address, PAGE_SIZE)
        if address + size > _ADDRESS_LIMIT:
            raise DeviceError(Status.BAD_RANGE, address)
        self._check_count(client)
        read_only = flags is ObjectFlags.READ_ONLY
        probe(client, address, size, write=not read_only)
        memory = self._new(client, ObjectKind.CLIENT_PAGES, flags, size)
        window = PagesWindow(client.port.pages, address, size, read_only=read_only)
        self._place_on_bus(memory, window, beside=address)
        return self._enter(client, memory)

    def destroy(self, client: Client, object_id: int, *, registered: bool) -> None:
        """Take an object from its client; its memory goes with the last export that holds it.

        Args:
            client: who owns it.
            object_id: the object.
            registered: whether it has to be one that SEGMENT_REGISTER made, or must not.

        Raises:
            DeviceError: BAD_OBJECT; IN_USE (detail: number of mappings).
        """
        memory = client.objects.get(object_id)
        if memory is None or memory.is_registered is not registered:
            raise DeviceError(Status.BAD_OBJECT, object_id)
        if memory.mapping_count:
            raise DeviceError(Status.IN_USE, memory.mapping_count)
        client.give_up(memory)
        memory.disown()

    def statistics(self) -> StoreStatistics:
        """Return what is alive now."""
        return StoreStatistics(len(self._live), sum(item.vram_bytes for item in self))

    def check(self) -> None:
        """Raise InvariantError when an object contradicts itself or has lost its bus window."""
        for object_id, memory in self._live.items():
            memory.check()
            if object_id != memory.object_id:
                raise InvariantError(f"object {memory.object_id} stands under number {object_id}")
            if memory.bus_address:
                self._check_window(memory)

    def _check_window(self, memory: MemoryObject) -> None:
        try:
            window, offset = self._memory.bus.find(memory.bus_address, memory.size)
        except MemoryFault as fault:
            raise InvariantError(f"object {memory.object_id} has no bus window: {fault}") from fault
        if offset or window.size != memory.size:
            raise InvariantError(f"object {memory.object_id} is not all of its bus window")

    def _check_count(self, client: Client) -> None:
        if len(client.objects) + len(client.imports) >= self._configuration.spec.max_objects:
            raise DeviceError(Status.LIMIT, self._configuration.spec.max_objects)

    def _new(self, client: Client, kind: ObjectKind, flags: ObjectFlags, size: int) -> MemoryObject:
        number = next(self._ids.objects)
        return MemoryObject(number, client.client_id, kind, flags, size, self._free)

    def _enter(self, client: Client, memory: MemoryObject) -> MemoryObject:
        self._live[memory.object_id] = memory
        client.keep(memory)
        return memory

    def _place_in_file(self, client: Client, memory: MemoryObject) -> None:
        """Give an object a memory file; nothing is left on failure."""
        if memory.kind is ObjectKind.VRAM:
            # Frames that nobody uses: they make the file count as device memory, exactly.
            memory.runs = self._memory.allocate(memory.size, client.client_id)
        try:
            file = self.system_memory.create(memory.size)
        except HostMemoryError as error:
            self._memory.free(memory.runs)
            raise DeviceError(Status.OUT_OF_HOST_MEMORY, memory.size) from error
        memory.file = file
        try:
            read_only = memory.flags is ObjectFlags.READ_ONLY
            self._place_on_bus(memory, FileWindow(file.view, read_only=read_only))
        except DeviceError:
            self._give_back(memory)
            raise

    def _place_on_bus(self, memory: MemoryObject, window: Window, beside: int = 0) -> None:
        address = self._memory.bus.register(window, memory.client_id, beside)
        memory.place_on_bus(address, self._page_sizes)

    def _free(self, memory: MemoryObject) -> None:
        del self._live[memory.object_id]
        self._give_back(memory)

    def _give_back(self, memory: MemoryObject) -> None:
        """Give back what an object stands in."""
        if memory.bus_address:
            self._memory.bus.unregister(memory.bus_address)
        if memory.runs:
            self._memory.free(memory.runs)
        if memory.file is not None:
            memory.file.close()
