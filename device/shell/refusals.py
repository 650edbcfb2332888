"""How the shell tells a client that a device does not attach it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.handshake import HandshakeStatus
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.errors import DeviceError
    from firmware.abi.handshake import Welcome
    from firmware.link.handshake import Offer


def refusal_of(error: DeviceError, offer: Offer) -> Welcome:
    """Return the answer to a client that a device cannot attach."""
    not_running = error.status is Status.DEVICE_LOST
    status = HandshakeStatus.NOT_RUNNING if not_running else HandshakeStatus.FULL
    return offer.refuse(status, error.detail)
