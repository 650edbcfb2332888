"""All parts of one device, made and joined in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, final

from device.core.acknowledge import Acknowledgements
from device.core.allocator import Allocator
from device.core.configuration import Configuration
from device.core.engine import Scheduler
from device.core.errors import InternalError
from device.core.fencepools import FencePools
from device.core.hardware import Hardware
from device.core.ids import Ids
from device.core.invalidations import Invalidations
from device.core.mapping import Mapper
from device.core.memory import MemoryController
from device.core.queues import Queues
from device.core.releases import Releases
from device.core.reports import Reports
from device.core.sessions import Sessions
from device.core.sharing import ExportTable
from device.core.spaces import Spaces
from device.core.state import DeviceState
from device.core.store import ObjectStore

if TYPE_CHECKING:
    from device.core.ports import Ports
    from device.core.spec import DeviceSpec


@final
@dataclass(frozen=True, slots=True)
class Blocks:
    """The parts of a device; each says itself what it owns and what survives a reset."""

    state: DeviceState
    memory: MemoryController
    scheduler: Scheduler
    acknowledgements: Acknowledgements
    invalidations: Invalidations
    releases: Releases
    hardware: Hardware
    sessions: Sessions

    @classmethod
    def build(
        cls, spec: DeviceSpec, vram: memoryview, ports: Ports, device_index: int, emulator_id: int
    ) -> Self:
        """Make the parts of a device that has no firmware yet.

        Raises:
            InternalError: `vram` is not the memory that the specification promises.
        """
        if vram.nbytes != spec.vram_size:
            raise InternalError(
                f"VRAM of {vram.nbytes:#x} bytes, the specification says {spec.vram_size:#x}"
            )
        state = DeviceState(device_index, emulator_id)
        configuration = Configuration(spec)
        ids = Ids()
        acknowledgements = Acknowledgements()
        memory = MemoryController(
            vram,
            channels=spec.channels,
            banks=spec.banks,
            interleave_bytes=spec.interleave_bytes,
            ecc=spec.ecc,
        )
        scheduler = Scheduler(memory, spec)
        store = ObjectStore(memory, ports.system_memory, configuration, ids)
        invalidations = Invalidations(scheduler)
        spaces = Spaces(memory, invalidations, acknowledgements, configuration, ids)
        mapper = Mapper(spaces, invalidations, acknowledgements)
        exports = ExportTable(ports.tokens, memory, spaces, mapper, configuration, ids)
        queues = Queues(spaces, scheduler, acknowledgements, configuration, ids)
        fence_pools = FencePools(
            ports.tokens, ports.pool_tokens, ports.system_memory, scheduler, configuration
        )
        releases = Releases(acknowledgements)
        hardware = Hardware(
            configuration=configuration,
            spaces=spaces,
            store=store,
            mapper=mapper,
            allocator=Allocator(store, spaces, mapper, releases),
            queues=queues,
            exports=exports,
            fence_pools=fence_pools,
            reports=Reports(state, configuration, memory, scheduler, spaces, store, exports),
        )
        sessions = Sessions(state, hardware, acknowledgements)
        return cls(
            state,
            memory,
            scheduler,
            acknowledgements,
            invalidations,
            releases,
            hardware,
            sessions,
        )
