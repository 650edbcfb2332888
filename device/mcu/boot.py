"""Boot code: verifies a firmware image and chooses who carries out its operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from device.core.firmware import BootRefused
from device.mcu.reference import ReferenceFirmware
from firmware.abi.boot import Behaviour
from firmware.abi.registers import BootError
from firmware.image import ImageError, load

if TYPE_CHECKING:
    from device.core.firmware import Firmware
    from device.core.hardware import Hardware
    from firmware.abi.boot import FirmwareLimits
    from firmware.abi.ids import Feature
    from firmware.image import FirmwareImage


@final
@dataclass(frozen=True, slots=True)
class ReferenceImage:
    """A good image whose operations the reference firmware carries out."""

    image: FirmwareImage

    @property
    def name(self) -> str:
        """Name of the firmware."""
        return self.image.name

    @property
    def version(self) -> str:
        """Version of the firmware."""
        return self.image.version

    @property
    def limits(self) -> FirmwareLimits:
        """Its limits."""
        return self.image.limits

    @property
    def features(self) -> Feature:
        """What it offers."""
        return self.image.note.features

    def start(self, hardware: Hardware) -> Firmware:
        """Start it."""
        return ReferenceFirmware(hardware)


@final
class BootCode:
    """The loader of the micro-controller; keeps nothing."""

    def load(self, image: bytes) -> ReferenceImage:
        """Verify an image; see `Loader`."""
        try:
            good = load(image)
        except ImageError as error:
            raise BootRefused(error.reason, error.detail, str(error)) from error
        behaviour = good.note.behaviour
        if behaviour is not Behaviour.REFERENCE:
            text = f"the device cannot carry out behaviour {behaviour.name} of {good.name}"
            raise BootRefused(BootError.UNSUPPORTED_BEHAVIOUR, behaviour, text)
        return ReferenceImage(good)
