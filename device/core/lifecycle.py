"""The phases of a device's life: which trigger leads from which phase to which, in one table."""

from __future__ import annotations

from enum import Enum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final

from device.core.errors import InternalError
from firmware.abi.registers import BootError, DeviceStatus, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping


class Trigger(Enum):
    """What moves a device from one phase to another."""

    BOOTED = auto()
    """A firmware image was taken."""
    REFUSED = auto()
    """A firmware image was refused."""
    DRAIN = auto()
    """The device is to end: no new clients."""
    RESET = auto()
    """Back to the state without firmware."""
    FATAL = auto()
    """An invariant does not hold, or the power is gone."""
    POWER = auto()
    """Power is given again, to a device that kept nothing."""


_TABLE: Final = {
    Phase.RESET: {
        Trigger.BOOTED: Phase.RUNNING,
        Trigger.REFUSED: Phase.BOOT,
        Trigger.RESET: Phase.RESET,
        Trigger.FATAL: Phase.HALTED,
    },
    Phase.BOOT: {
        Trigger.BOOTED: Phase.RUNNING,
        Trigger.REFUSED: Phase.BOOT,
        Trigger.RESET: Phase.RESET,
        Trigger.FATAL: Phase.HALTED,
    },
    Phase.RUNNING: {
        Trigger.DRAIN: Phase.DRAINING,
        Trigger.RESET: Phase.RESET,
        Trigger.FATAL: Phase.HALTED,
    },
    Phase.DRAINING: {
        Trigger.DRAIN: Phase.DRAINING,
        Trigger.RESET: Phase.RESET,
        Trigger.FATAL: Phase.HALTED,
    },
    Phase.HALTED: {Trigger.POWER: Phase.RESET},
}
TRANSITIONS: Final[Mapping[Phase, Mapping[Trigger, Phase]]] = MappingProxyType(
    {phase: MappingProxyType(row) for phase, row in _TABLE.items()}
)
"""Phase after each trigger; what is not listed is refused. Power alone leaves HALTED."""


@final
class Lifecycle:
    """Phase of one device and why its last image was refused.

    Owner: the device. Invariant: `boot_error` is NONE exactly while the phase is not BOOT.
    A reset leads to RESET and forgets the refusal.
    """

    __slots__ = ("boot_detail", "boot_error", "phase")

    def __init__(self) -> None:
        self.phase = Phase.RESET
        self.boot_error = BootError.NONE
        self.boot_detail = 0
        """Register BOOT_DETAIL: offset or value that was refused."""

    def allows(self, trigger: Trigger) -> bool:
        """Whether the trigger leads anywhere from here."""
        return trigger in TRANSITIONS[self.phase]

    def fire(
        self, trigger: Trigger, boot_error: BootError = BootError.NONE, boot_detail: int = 0
    ) -> Phase:
        """Follow a trigger and return the new phase.

        Raises:
            InternalError: the trigger leads nowhere from here; nothing changed.
        """
        phase = TRANSITIONS[self.phase].get(trigger)
        if phase is None:
            raise InternalError(f"{trigger.name} in phase {self.phase.name} leads nowhere")
        self.phase = phase
        self.boot_error = boot_error
        self.boot_detail = boot_detail
        return phase

    def status(self, *, client_lost: bool = False, poison: bool = False) -> DeviceStatus:
        """Return register STATUS as one client sees it."""
        return DeviceStatus.build(
            phase=self.phase,
            boot_error=self.boot_error,
            client_lost=client_lost,
            poison=poison,
        )
