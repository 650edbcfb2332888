"""Messages of a program that are no calls of the interface, and are answered at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.channel import CHANNEL_NOTE, CHANNEL_NUDGE
from hostdriver.channel.watch import take_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.channel.devices import ProgramDevice
    from hostdriver.channel.slots import Incoming, Slots
    from hostdriver.channel.watch import Watch


def take_aside(
    message: Incoming, slots: Slots, watch: Watch | None, devices: Sequence[ProgramDevice]
) -> bool:
    """Do what a message says that is no call; return whether it was one of those.

    Raises:
        MalformedMessageError: a note that nobody asked for, or of no function.
    """
    if message.what == CHANNEL_NOTE:
        take_note(watch, slots, message)
        return True
    if message.what == CHANNEL_NUDGE:
        for device in devices:
            device.nudge()
        return True
    return False
