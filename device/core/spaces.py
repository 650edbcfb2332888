"""Address spaces of clients: page tables, and whose memory is mapped where, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, final

from device.core.errors import DeviceError
from device.core.exports import Import
from device.core.intervals import Intervals
from device.core.objects import MemoryObject, NullPages
from device.core.paging import AddressSpace
from device.core.paging.walks import Walks
from firmware.abi.control import InvalidateScope
from firmware.abi.ids import PAGE_SIZE, VA_LIMIT
from firmware.abi.statistics import SpaceStatistics
from firmware.abi.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.acknowledge import Acknowledgement, Acknowledgements
    from device.core.clients import Client
    from device.core.configuration import Configuration
    from device.core.ids import Ids
    from device.core.invalidations import Invalidations
    from device.core.memory import MemoryController
    from firmware.abi.control import TranslationExtent

Backing: TypeAlias = MemoryObject | Import | NullPages
"""What a mapping can map."""

QUERY_LIMIT: Final = 1 << 34
"""Most bytes that one QUERY walks: it holds up everybody."""


@final
class ClientSpace:
    """One address space of a client.

    Owner: its client. Invariants: `mappings` covers exactly the pages that the page tables map;
    both are changed in one step. Ends with its client at a device reset.
    """

    __slots__ = ("mappings", "null", "queue_count", "space", "vmid")

    def __init__(self, space: AddressSpace) -> None:
        self.space = space
        self.vmid = space.vmid
        self.mappings: Intervals[Backing] = Intervals()
        self.null = NullPages()
        self.queue_count = 0
        """Queues that run in it, removed ones with a chunk in flight included."""

    def statistics(self) -> SpaceStatistics:
        """Return the record that counts what it maps and how its TLB did."""
        own = self.space.statistics()
        return SpaceStatistics(
            client_id=own.owner,
            vmid=own.vmid,
            root_address=own.root_address,
            mapped_pages=own.mapped_pages,
            table_count=own.table_count,
            tlb_hits=own.tlb.hits,
            tlb_misses=own.tlb.misses,
            tlb_invalidations=own.tlb.invalidations,
            tlb_entries=own.tlb.entries,
        )


@final
class Spaces:
    """Makes, queries, invalidates and destroys address spaces.

    Owner: the device. It keeps nothing but the parts it works with and the counters of what is
    gone; those survive a reset.
    """

    def __init__(
        self,
        memory: MemoryController,
        invalidations: Invalidations,
        acknowledgements: Acknowledgements,
        configuration: Configuration,
        ids: Ids,
    ) -> None:
        self._memory = memory
        self._invalidations = invalidations
        self._acknowledgements = acknowledgements
        self._configuration = configuration
        self._ids = ids
        self.walks = Walks()
        """How all spaces look addresses up."""
        self.past_hits = self.past_misses = self.past_invalidations = 0
        """What the TLBs of destroyed spaces counted."""

    def create(self, client: Client) -> ClientSpace:
        """Make an empty address space.

        Raises:
            DeviceError: LIMIT; OUT_OF_DEVICE_MEMORY for its root table.
        """
        spec = self._configuration.spec
        if len(client.spaces) >= spec.max_spaces:
            raise DeviceError(Status.LIMIT, spec.max_spaces)
        vmid = next(self._ids.spaces)
        space = AddressSpace(vmid, client.client_id, self._memory, spec)
        space.walks = self.walks
        made = ClientSpace(space)
        client.spaces[vmid] = made
        return made

    def find(self, client: Client, vmid: int) -> ClientSpace:
        """Return an address space of a client.

        Raises:
            DeviceError: BAD_SPACE.
        """
        found = client.spaces.get(vmid)
        if found is None:
            raise DeviceError(Status.BAD_SPACE, vmid)
        return found

    def destroy(self, client: Client, vmid: int) -> None:
        """Destroy an address space; its mappings and tables go, the objects stay.

        Raises:
            DeviceError: BAD_SPACE; IN_USE (detail: queues that run in it).
        """
        space = self.find(client, vmid)
        if space.queue_count:
            # Without a queue no chunk can be in flight here, so there is nothing to wait for.
            raise DeviceError(Status.IN_USE, space.queue_count)
        self.dissolve(client, space)

    def dissolve(self, client: Client, space: ClientSpace) -> None:
        """Unmap everything and free the tables; the memory itself is its holders' matter."""
        space.mappings.remove(0, VA_LIMIT)
        space.space.destroy()
        tlb = space.space.tlb.statistics()
        self.past_hits += tlb.hits
        self.past_misses += tlb.misses
        self.past_invalidations += tlb.invalidations
        del client.spaces[space.vmid]

    def query(
        self, client: Client, vmid: int, va: int, size: int, capacity: int
    ) -> tuple[list[TranslationExtent], int, int | None]:
        """Walk a range; return its first `capacity` extents, how many there are, the first hole.

        Raises:
            DeviceError: BAD_SPACE, BAD_RANGE, LIMIT (detail: most bytes that one query walks).
        """
        space = self.find(client, vmid)
        check_range(va, size)
        if size > QUERY_LIMIT:
            raise DeviceError(Status.LIMIT, QUERY_LIMIT)
        return space.space.tables.query(va, size, capacity)

    def invalidate(
        self, client: Client, scope: InvalidateScope, vmid: int, va: int, size: int
    ) -> tuple[int, Acknowledgement]:
        """Forget translations; return how many were held, and the engines' acknowledgement.

        Raises:
            DeviceError: BAD_SPACE, BAD_RANGE.
        """
        if scope is InvalidateScope.ALL:
            spaces = list(client.spaces.values())
        else:
            spaces = [self.find(client, vmid)]
        if scope is InvalidateScope.PAGE:
            size = PAGE_SIZE
            va &= -PAGE_SIZE
        elif scope is not InvalidateScope.RANGE:
            va, size = 0, VA_LIMIT
        check_range(va, size)
        forgotten = 0
        questions: list[Callable[[], bool]] = []
        for space in spaces:
            forgotten += self._invalidations.forget(space.space, scope, va, size)
            questions.append(self._invalidations.acknowledged(space.vmid, va, size))
        return forgotten, self._acknowledgements.wait(
            lambda: all(question() for question in questions)
        )


def check_range(va: int, size: int) -> None:
    """Check that a range of virtual addresses exists.

    Raises:
        DeviceError: BAD_RANGE (detail: its first address) when it is empty or ends too high.
    """
    if size == 0 or va + size > VA_LIMIT:
        raise DeviceError(Status.BAD_RANGE, va, VA_LIMIT)
