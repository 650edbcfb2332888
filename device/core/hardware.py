"""What firmware sees of the device: the blocks that its operations work on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from device.core.allocator import Allocator
    from device.core.configuration import Configuration
    from device.core.fencepools import FencePools
    from device.core.mapping import Mapper
    from device.core.queues import Queues
    from device.core.reports import Reports
    from device.core.sharing import ExportTable
    from device.core.spaces import Spaces
    from device.core.store import ObjectStore


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The blocks of one device.

    Every method of theirs that firmware may call takes the client that asks, does all that it says
    or raises `DeviceError` and has changed nothing, and never waits: what engines have to
    acknowledge comes back as an `Acknowledgement`.
    """

    configuration: Configuration
    spaces: Spaces
    store: ObjectStore
    mapper: Mapper
    allocator: Allocator
    queues: Queues
    exports: ExportTable
    fence_pools: FencePools
    reports: Reports
