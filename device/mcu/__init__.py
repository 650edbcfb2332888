"""The micro-controller of the device: boot code and the reference firmware."""

from device.mcu.boot import BootCode, ReferenceImage
from device.mcu.reference import ReferenceFirmware

__all__ = ["BootCode", "ReferenceFirmware", "ReferenceImage"]
