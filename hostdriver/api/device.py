"""Devices and sub-devices: handles whose methods are the specification's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from hostdriver.api import device_abilities, device_queries
from hostdriver.api.command_queue import synchronize_device
from hostdriver.api.device_queries import Identity, text_of
from hostdriver.api.device_structures import DeviceImageProperties
from hostdriver.api.queue_groups import queue_groups
from hostdriver.core.events import COPY_PARTS, COUNTER_MAX
from hostdriver.core.failures import invalid_argument, null_handle
from hostdriver.core.visibility import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.abi.extensions import Extension
    from hostdriver.api.device_structures import (
        CommandQueueGroupProperties,
        DeviceCacheProperties,
        DeviceComputeProperties,
        DeviceExternalMemoryProperties,
        DeviceMemoryAccessProperties,
        DeviceMemoryProperties,
        DeviceModuleProperties,
        DeviceP2pProperties,
        DeviceProperties,
        GlobalTimestamps,
        PciExtProperties,
    )
    from hostdriver.api.driver import Driver
    from hostdriver.api.structures import ChainedProperties, UnknownDesc
    from hostdriver.core.results import ZeResult
    from hostdriver.core.state import DeviceState, DriverState
    from hostdriver.core.visibility import Seen


@final
class Device:
    """One device of the driver, or a sub-device of one.

    A handle without state: what it says is constant while the emulator runs, save free memory,
    clock and status. Sub-devices share memory and engines of their device: what is allocated on
    one is their device's. Whatever takes a device takes a sub-device as well.
    """

    __slots__ = ("_children", "_identity", "_parent", "_state", "driver", "extensions")

    def __init__(
        self,
        driver: Driver,
        state: DeviceState,
        identity: Identity,
        parent: Device | None = None,
    ) -> None:
        self.driver = driver
        """The driver that has it."""
        self.extensions: Extension = state.extensions
        """Extensions that it offers to this process."""
        self._state = state
        self._identity = identity
        self._parent = parent
        self._children: tuple[Device, ...] = ()

    def __repr__(self) -> str:
        part = self._identity.sub_device
        number = f"{self.index}" if part is None else f"{self.index}.{part}"
        return f"<Device {number}: {text_of(self._state.spec.name)}>"

    @property
    def index(self) -> int:
        """Number of the device at the emulator; for a sub-device, of its device."""
        return self._identity.device

    @property
    def sub_device(self) -> int | None:
        """Which sub-device of its device it is, if it is one."""
        return self._identity.sub_device

    def get_sub_devices(self) -> tuple[Device, ...]:
        """Return its sub-devices (zeDeviceGetSubDevices)."""
        return self._children

    def get_root_device(self) -> Device | None:
        """Return the device of a sub-device, None for a device (zeDeviceGetRootDevice)."""
        return self._parent

    def get_properties(
        self, p_next: Sequence[type[ChainedProperties] | UnknownDesc] = ()
    ) -> DeviceProperties:
        """Return what the device is; the structures whose classes are given stand in `p_next`."""
        return self.driver.run(
            lambda state: device_queries.get_properties(state, self._identity, p_next)
        )

    def get_memory_properties(
        self, p_next: Sequence[type[ChainedProperties] | UnknownDesc] = ()
    ) -> list[DeviceMemoryProperties]:
        """Return its memories."""
        return self.driver.look(
            lambda state: device_queries.get_memory_properties(state, self.index, p_next)
        )

    def get_memory_access_properties(self) -> DeviceMemoryAccessProperties:
        """Return how it accesses each kind of memory."""
        return device_abilities.memory_access()

    def get_cache_properties(self) -> list[DeviceCacheProperties]:
        """Return its caches."""
        return device_abilities.caches(self._state.spec)

    def get_command_queue_group_properties(self) -> list[CommandQueueGroupProperties]:
        """Return its groups of queues; a group's place is the ordinal of its queues."""
        return [group.properties for group in queue_groups(self._state.spec)]

    def get_compute_properties(self) -> DeviceComputeProperties:
        """Return how large groups of kernels may be."""
        return device_abilities.compute()

    def get_module_properties(self) -> DeviceModuleProperties:
        """Return what kernels may use."""
        return device_abilities.modules()

    def get_image_properties(self) -> DeviceImageProperties:
        """Return how large images may be: there are none."""
        return DeviceImageProperties()

    def get_external_memory_properties(self) -> DeviceExternalMemoryProperties:
        """Return which handles for memory of others it takes and gives."""
        return device_abilities.external_memory()

    def get_p2p_properties(self, peer: Device | None) -> DeviceP2pProperties:
        """Return what it may do to the memory of a peer."""
        return device_abilities.peer_properties(self.index, self._number_of(peer))

    def can_access_peer(self, peer: Device | None) -> bool:
        """Return whether it reaches the memory of a peer (zeDeviceCanAccessPeer)."""
        return device_abilities.can_access(self.index, self._number_of(peer))

    def pci_get_properties_ext(self) -> PciExtProperties:
        """Return where it stands on the bus."""
        return self.driver.look(lambda _: device_abilities.pci_properties(self._state))

    def get_status(self) -> ZeResult:
        """Return SUCCESS, or DEVICE_LOST when it serves this process no more."""
        return self.driver.run(lambda _: device_abilities.get_status(self.index))

    def get_global_timestamps(self) -> GlobalTimestamps:
        """Return the clocks of host and device at the same moment."""
        return self.driver.run(lambda _: device_abilities.get_global_timestamps(self.index))

    def synchronize(self) -> None:
        """Wait until all work of this process on the device is done (zeDeviceSynchronize).

        Raises:
            ZeError: a queue or list of it failed (DEVICE_LOST).
        """
        self.driver.run(lambda state: synchronize_device(state, self.index))

    def get_counter_based_event_max_value(self) -> int:
        """Return the largest number that a counting event may be expected to reach."""
        return COUNTER_MAX

    def get_aggregated_copy_offload_increment_value(self) -> int:
        """Return into how many parts a copy is split, each of which adds to an event's memory."""
        return COPY_PARTS

    def adopt(self, children: Sequence[Device]) -> None:
        """Set the sub-devices that are seen; for the driver that makes them."""
        self._children = tuple(children)

    def _number_of(self, peer: Device | None) -> int:
        if peer is None:
            raise self.driver.noted(null_handle("hPeerDevice"))
        return peer.index


def check_of_driver(driver: Driver, device: Device | None) -> Device:
    """Return a device that is a driver's own.

    Raises:
        ZeError: it is null, or another driver's.
    """
    if device is None:
        raise null_handle("hDevice")
    if device.driver is not driver:
        raise invalid_argument(f"{device} belongs to another driver")
    return device


def make_devices(driver: Driver, state: DriverState, seen: Sequence[Seen]) -> tuple[Device, ...]:
    """Return the devices that a program sees, with their sub-devices and devices."""
    hierarchy = state.facts.visibility.hierarchy
    roots: dict[int, Device] = {}
    devices: list[Device] = []
    for one in seen:
        facts = state.devices[one.device]
        if hierarchy is Hierarchy.COMBINED and one.sub_device is not None:
            root = roots.setdefault(one.device, Device(driver, facts, Identity(one.device)))
            part = Device(driver, facts, Identity(one.device, one.sub_device, is_part=True), root)
            root.adopt([*root.get_sub_devices(), part])
            devices.append(part)
            continue
        device = Device(driver, facts, Identity(one.device, one.sub_device))
        device.adopt(
            [
                Device(driver, facts, Identity(one.device, child, is_part=True), device)
                for child in one.children
            ]
        )
        devices.append(device)
    return tuple(devices)
