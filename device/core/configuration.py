"""What the device is with the firmware that it runs: the lower of both sides' limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import msgspec

from firmware.abi.ids import Feature
from firmware.link.layout import SegmentPlan

if TYPE_CHECKING:
    from device.core.spec import DeviceSpec
    from firmware.abi.boot import FirmwareLimits


@final
class Configuration:
    """Limits and features in force.

    Owner: the device, which changes it at boot only; its parts read it at each use. A device reset
    keeps it until the next boot.
    """

    __slots__ = ("features", "plan", "spec")

    def __init__(self, spec: DeviceSpec) -> None:
        self.spec = spec
        """The device's own specification until a firmware has booted, then limited by it."""
        self.features = Feature(0)
        """Features that device and firmware offer."""
        self.plan: SegmentPlan | None = None
        """Layout of new clients' segments; None until a firmware has booted."""

    def boot(self, spec: DeviceSpec, limits: FirmwareLimits, features: Feature) -> None:
        """Put a firmware's limits in force.

        Args:
            spec: the device's own specification.
            limits: limits of the firmware.
            features: features of the firmware.

        Raises:
            SpecError: together they leave nothing.
            ValueError: a segment for them would be too large. Nothing changed.
        """
        limited = spec.limited(limits)
        lower = msgspec.structs.replace(
            limits,
            max_queues=limited.max_queues,
            max_clients=limited.max_clients,
            max_spaces=limited.max_spaces,
            max_objects=limited.max_objects,
            min_ring_entries=limited.min_ring_entries,
            max_ring_entries=limited.max_ring_entries,
            fence_count=limited.fence_count,
        )
        self.plan = SegmentPlan.of(lower)
        self.spec = limited
        self.features = features & DEVICE_FEATURES


DEVICE_FEATURES = (
    Feature.EVENT_INDEX
    | Feature.CLIENT_MEMORY
    | Feature.IPC_RANGES
    | Feature.COPY_REGIONS
    | Feature.TIMESTAMPS
)
"""What this device can do; peers need a second device."""
