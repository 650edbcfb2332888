"""Memory with an address: made and mapped in one step, unmapped and given up in one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, final

from device.core.acknowledge import AT_ONCE
from device.core.errors import DeviceError
from device.core.mapping import Span
from device.core.releases import blockers_of
from firmware.abi.control import ObjectKind
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.acknowledge import Acknowledgement
    from device.core.clients import Client
    from device.core.mapping import Mapper
    from device.core.objects import MemoryObject
    from device.core.releases import Releases
    from device.core.spaces import ClientSpace, Spaces
    from device.core.store import ObjectStore
    from firmware.abi.control import ObjectFlags
    from firmware.abi.ids import Rights


class Wanted(NamedTuple):
    """Memory that is to be made."""

    kind: ObjectKind
    flags: ObjectFlags
    rights: Rights
    page_size: int


class Releasing(NamedTuple):
    """A release that was taken."""

    number: int
    """Its number while it waits behind work; 0: it is done, but for chunks in flight."""
    acknowledgement: Acknowledgement


@final
class Allocator:
    """Allocates and releases for clients.

    Owner: the device. It keeps nothing but the parts it works with. Both operations do all that
    they say, or raise `DeviceError` and have changed nothing.
    """

    def __init__(
        self, store: ObjectStore, spaces: Spaces, mapper: Mapper, releases: Releases
    ) -> None:
        self._store = store
        self._spaces = spaces
        self._mapper = mapper
        self._releases = releases

    def allocate(
        self, client: Client, request: int, vmid: int, span: Span, wanted: Wanted
    ) -> MemoryObject:
        """Make an object of a range's size, or of the client's own pages there, and map it there.

        Raises:
            DeviceError: as `ObjectStore.create`, `ObjectStore.register_pages` and `Mapper.map`.
        """
        kind, flags, rights, page_size = wanted
        self._spaces.find(client, vmid)
        is_registered = kind is ObjectKind.CLIENT_PAGES
        if is_registered:
            memory = self._store.register_pages(client, flags, *span)
        else:
            memory = self._store.make(client, kind, flags, span.size, page_size)
        number = memory.object_id
        try:
            self._mapper.map(client, vmid, span, number, 0, rights)
            self._deliver(client, request, vmid, span, memory)
        except DeviceError:
            self._store.destroy(client, number, registered=is_registered)
            raise
        return memory

    def release(self, client: Client, vmid: int, span: Span, object_id: int) -> Releasing:
        """Unmap an object and destroy it, behind the commands that name its addresses.

        Raises:
            DeviceError: BAD_SPACE; BAD_OBJECT; NOT_MAPPED (detail: the address) when the object is
                not mapped there as a whole; IN_USE (detail: number of mappings) when it is mapped
                elsewhere too, or is being released already.
        """
        space = self._spaces.find(client, vmid)
        memory = client.objects.get(object_id)
        if memory is None:
            raise DeviceError(Status.BAD_OBJECT, object_id)
        piece = space.mappings.beginning_at(span.va)
        if (
            piece is None
            or piece.backing is not memory
            or not piece.size == span.size == memory.size
        ):
            raise DeviceError(Status.NOT_MAPPED, span.va)
        if memory.mapping_count > 1 or memory.releasing:
            raise DeviceError(Status.IN_USE, memory.mapping_count)
        queues = [queue for queue in client.queues.values() if queue.space is space.space]
        blockers = blockers_of(queues, *span)
        if not blockers:
            acknowledgement = self._mapper.unmap(client, vmid, span)[1]
            self._store.destroy(client, object_id, registered=memory.is_registered)
            return Releasing(0, acknowledgement)
        memory.releasing = True
        number = client.released.begin()
        finish = partial(self._finish, client, space, span, memory, number)
        return Releasing(number, self._releases.wait(client.client_id, blockers, finish))

    def _deliver(
        self, client: Client, request: int, vmid: int, span: Span, memory: MemoryObject
    ) -> None:
        try:
            self._store.deliver(client, request, memory)
        except DeviceError:
            self._mapper.unmap(client, vmid, span)
            raise

    def _finish(
        self, client: Client, space: ClientSpace, span: Span, memory: MemoryObject, number: int
    ) -> Acknowledgement:
        """Do what had to wait, unless the client, or its session, has ended it meanwhile."""
        client.released.end(number)
        memory.releasing = False
        if client.objects.get(memory.object_id) is not memory:
            return AT_ONCE
        return self._give_up(client, space, span, memory)

    def _give_up(
        self, client: Client, space: ClientSpace, span: Span, memory: MemoryObject
    ) -> Acknowledgement:
        """Unmap an object and destroy it.

        The client may have unmapped parts of it while it waited, or mapped it elsewhere; then it
        keeps the object.
        """
        # What stands where it stood: whole mappings, so that no large page is split, which could
        # fail, and nobody would be there to be told.
        spans = [
            Span(piece.start, piece.size)
            for piece in space.mappings.inside(*span)
            if piece.backing is memory and piece.start - piece.offset == span.va
        ]
        acknowledgement = self._mapper.clear(space, spans)[1] if spans else AT_ONCE
        if not memory.mapping_count:
            self._store.destroy(client, memory.object_id, registered=memory.is_registered)
        return acknowledgement
