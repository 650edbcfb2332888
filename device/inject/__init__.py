"""Injection in the device: what comes in between its parts while a rule wants it."""

from device.inject.taps import device_taps

__all__ = ["device_taps"]
