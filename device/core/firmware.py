"""What the device asks of its firmware, and the firmware of the device.

Firmware turns control commands into replies. It reaches the hardware through `Hardware` alone, so
that code in a real firmware image can take the place of the reference firmware.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, final

from firmware.abi.replies import Refused

if TYPE_CHECKING:
    from device.core.acknowledge import Acknowledgement
    from device.core.clients import Client
    from device.core.hardware import Hardware
    from firmware.abi.boot import FirmwareLimits
    from firmware.abi.ids import Feature
    from firmware.abi.registers import BootError
    from firmware.abi.status import Status

_U64: Final = (1 << 64) - 1


@final
class BootRefused(Exception):
    """A firmware image cannot be booted; nothing changed but STATUS and BOOT_DETAIL."""

    def __init__(self, error: BootError, detail: int, text: str) -> None:
        super().__init__(text)
        self.error = error
        """What STATUS tells."""
        self.detail = detail
        """What BOOT_DETAIL tells."""


class Pending(NamedTuple):
    """A reply that goes out when the engines have acknowledged; later ones may overtake it."""

    reply: bytes
    acknowledgement: Acknowledgement


class Firmware(Protocol):
    """A firmware that runs."""

    def handle(self, client: Client, command: bytes, now: int) -> bytes | Pending:
        """Carry out one control command and return its reply.

        Bytes of a client never raise: what cannot be done is refused and has changed nothing.

        Raises:
            InternalError: a bug; it costs this client its session.
        """
        ...


class BootImage(Protocol):
    """A verified firmware image."""

    @property
    def name(self) -> str:
        """Name of the firmware."""
        ...

    @property
    def version(self) -> str:
        """Version of the firmware."""
        ...

    @property
    def limits(self) -> FirmwareLimits:
        """Its limits."""
        ...

    @property
    def features(self) -> Feature:
        """What it offers."""
        ...

    def start(self, hardware: Hardware) -> Firmware:
        """Start it."""
        ...


class Loader(Protocol):
    """The boot code of the micro-controller."""

    def load(self, image: bytes) -> BootImage:
        """Verify an image.

        Raises:
            BootRefused: it is no image that this device can boot.
        """
        ...


def refusal(command: bytes, status: Status, detail: int = 0, expected: int = 0) -> bytes:
    """Return the reply that refuses a control command, whatever its bytes are."""
    reply = Refused(
        opcode=int.from_bytes(command[:2], "little"),
        status=status,
        request=int.from_bytes(command[4:8], "little"),
        detail=int(detail) & _U64,
        expected=int(expected) & _U64,
    )
    return reply.pack()
