"""The place where firmware runs: boots images, hands commands to it, survives its bugs."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.firmware import BootRefused
from device.core.lifecycle import Trigger
from device.core.spec import SpecError
from firmware.abi.registers import BootError

if TYPE_CHECKING:
    from device.core.firmware import BootImage, Firmware, Loader
    from device.core.hardware import Hardware
    from device.core.lifecycle import Lifecycle
    from device.core.spec import DeviceSpec


@final
class MicroController:
    """Holds the firmware of one device.

    Owner: the device. Invariant: there is a firmware exactly while the phase is RUNNING or
    DRAINING. A reset boots the last good image again.
    """

    __slots__ = ("_bytes", "_hardware", "_image", "_lifecycle", "_spec", "firmware", "loader")

    def __init__(
        self, loader: Loader, lifecycle: Lifecycle, hardware: Hardware, spec: DeviceSpec
    ) -> None:
        self.loader = loader
        """Its boot code; something may come in front of it (see `inside`)."""
        self._lifecycle = lifecycle
        self._hardware = hardware
        self._spec = spec
        self._image: BootImage | None = None
        self._bytes = b""
        self.firmware: Firmware | None = None

    @property
    def image(self) -> BootImage | None:
        """The last good image."""
        return self._image

    def boot(self, image: bytes) -> BootRefused | None:
        """Boot an image; when it is refused, return why: STATUS and BOOT_DETAIL tell it too.

        Raises:
            InternalError: the device runs already, or halted.
        """
        try:
            good = self.loader.load(image)
            self._configure(good)
        except BootRefused as refused:
            self._lifecycle.fire(Trigger.REFUSED, refused.error, refused.detail)
            return refused
        self._lifecycle.fire(Trigger.BOOTED)
        self._image, self._bytes = good, image
        self.firmware = good.start(self._hardware)
        return None

    def stop(self, trigger: Trigger) -> None:
        """Stop the firmware by RESET or FATAL.

        Raises:
            InternalError: the phase does not allow it.
        """
        self._lifecycle.fire(trigger)
        self.firmware = None

    def restart(self) -> None:
        """Boot the last good image again, if there is one; it stays that if it is refused now."""
        if self._image is not None:
            self.boot(self._bytes)

    def _configure(self, image: BootImage) -> None:
        try:
            self._hardware.configuration.boot(self._spec, image.limits, image.features)
        except (SpecError, ValueError) as error:
            raise BootRefused(BootError.BAD_LIMITS, 0, str(error)) from error
