"""Messages that are no calls: answered at once, and told from calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from firmware.abi.channel import CHANNEL_BEGIN, CHANNEL_NOTE, CHANNEL_NUDGE, MessageKind
from hostdriver.channel.asides import take_aside
from hostdriver.channel.items import MalformedMessageError
from hostdriver.channel.slots import Incoming

if TYPE_CHECKING:
    from hostdriver.channel.devices import ProgramDevice
    from hostdriver.channel.slots import Slots

NO_SLOTS = cast("Slots", None)


class Device:
    """Counts how often it is told to look."""

    nudged = 0

    def nudge(self) -> None:
        self.nudged += 1


def take(what: int, *devices: Device) -> bool:
    message = Incoming(0, MessageKind.CALL, what, b"")
    return take_aside(message, NO_SLOTS, None, cast("tuple[ProgramDevice, ...]", devices))


def test_a_nudge_reaches_every_device() -> None:
    devices = Device(), Device()

    assert take(CHANNEL_NUDGE, *devices)

    assert [device.nudged for device in devices] == [1, 1]


def test_a_note_that_nobody_asked_for_is_refused() -> None:
    with pytest.raises(MalformedMessageError, match="nobody asked"):
        take(CHANNEL_NOTE)


@pytest.mark.parametrize("what", [0, 7, CHANNEL_BEGIN])
def test_calls_are_none(what: int) -> None:
    device = Device()

    assert not take(what, device)
    assert not device.nudged
