"""Statistics and properties as records of the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.errors import DeviceError
from firmware.abi.control import Subject
from firmware.abi.statistics import (
    ClientStatistics,
    DeviceStatistics,
    QueueStatistics,
    SpaceStatistics,
)
from firmware.abi.status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from device.core.clients import Client
    from device.core.configuration import Configuration
    from device.core.engine import Scheduler
    from device.core.memory import MemoryController
    from device.core.sharing import ExportTable
    from device.core.spaces import Spaces
    from device.core.state import DeviceState
    from device.core.store import ObjectStore
    from firmware.abi._record import Record
    from firmware.abi.registers import DeviceStatus


@final
class Reports:
    """Collects what the blocks of the device count. It keeps nothing of its own."""

    def __init__(
        self,
        state: DeviceState,
        configuration: Configuration,
        memory: MemoryController,
        scheduler: Scheduler,
        spaces: Spaces,
        store: ObjectStore,
        exports: ExportTable,
    ) -> None:
        self._state = state
        self._configuration = configuration
        self._memory = memory
        self._scheduler = scheduler
        self._spaces = spaces
        self._store = store
        self._exports = exports

    @property
    def device_index(self) -> int:
        """Number of the device."""
        return self._state.device_index

    def properties(self, client: Client, subject: Subject, target: int) -> Record:
        """Return what one thing is.

        Raises:
            DeviceError: BAD_OBJECT; UNSUPPORTED for a subject without properties.
        """
        if subject is Subject.DEVICE:
            return self._configuration.spec.to_block(self._state.device_index)
        opened = client.imports.get(target)
        if subject is Subject.EXPORT and opened is not None:
            return opened.properties()
        memory = client.objects.get(target)
        if subject is Subject.OBJECT and memory is not None:
            return memory.properties()
        if subject in (Subject.OBJECT, Subject.EXPORT):
            raise DeviceError(Status.BAD_OBJECT, target)
        raise DeviceError(Status.UNSUPPORTED, subject)

    def statistics(self, subject: Subject) -> tuple[type[Record], Sequence[Record]]:
        """Return the kind of record of a subject, and one for each thing of it on the device.

        Raises:
            DeviceError: UNSUPPORTED for a subject without statistics.
        """
        clients = self._state.clients.values()
        if subject is Subject.DEVICE:
            return DeviceStatistics, [self.device()]
        if subject is Subject.CLIENT:
            counted = [client for client in clients if client.counted]
            return ClientStatistics, [client.statistics() for client in counted]
        if subject is Subject.QUEUE:
            queues = [queue for client in clients for queue in client.queues.values()]
            return QueueStatistics, [queue.statistics() for queue in queues]
        if subject is Subject.SPACE:
            spaces = [space for client in clients for space in client.spaces.values()]
            return SpaceStatistics, [space.statistics() for space in spaces]
        raise DeviceError(Status.UNSUPPORTED, subject)

    def device(self) -> DeviceStatistics:
        """Return the counters of the device."""
        state = self._state
        memory = self._memory.statistics()
        clients = state.clients.values()
        counted = [client for client in clients if client.counted]
        spaces = [space for client in clients for space in client.spaces.values()]
        tlbs = [space.space.tlb.statistics() for space in spaces]
        past = self._spaces
        scheduler = self._scheduler.statistics()
        return DeviceStatistics(
            name=self._configuration.spec.name.encode().ljust(64, b"\0"),
            status=self.status(),
            device_index=state.device_index,
            reset_count=state.reset_count,
            client_count=state.client_count,
            uptime_ticks=state.now,
            vram_size=memory.size_bytes,
            free_bytes=memory.free_bytes,
            table_bytes=memory.table_bytes,
            retired_bytes=memory.retired_bytes,
            object_count=len(self._store),
            space_count=len(spaces),
            queue_count=scheduler.queue_count,
            export_count=self._exports.live_count,
            import_count=sum(len(client.imports) for client in clients),
            mapped_pages=sum(space.space.tables.mapped_pages for space in spaces),
            bytes_read=memory.traffic.bytes_read,
            bytes_written=memory.traffic.bytes_written,
            bus_bytes_read=memory.traffic.bus_bytes_read,
            bus_bytes_written=memory.traffic.bus_bytes_written,
            scrubbed_bytes=memory.scrubbed_bytes,
            ecc_corrected=memory.ecc.corrected,
            ecc_uncorrected=memory.ecc.uncorrected,
            tlb_hits=past.past_hits + sum(tlb.hits for tlb in tlbs),
            tlb_misses=past.past_misses + sum(tlb.misses for tlb in tlbs),
            tlb_invalidations=past.past_invalidations + sum(t.invalidations for t in tlbs),
            control_commands=state.past_commands + sum(c.control.commands for c in counted),
            work_commands=scheduler.commands,
            faults=scheduler.faults,
            doorbells=state.past_doorbells + sum(c.doorbells.changes for c in counted),
            interrupts=state.interrupts,
        )

    def status(self, client: Client | None = None) -> DeviceStatus:
        """Return register STATUS as one client sees it."""
        return self._state.lifecycle.status(
            client_lost=client is not None and client.lost is not None,
            poison=self._memory.local.ecc.statistics().uncorrected > 0,
        )
