"""The devices for drivers in the emulator's own process: no socket, the same segment and rings."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, final

from device.core.errors import DeviceError
from device.shell.connection import Connection
from device.shell.refusals import refusal_of
from firmware.link.errors import Refused
from firmware.link.handshake import Agreement, Offer, explain, name_in
from firmware.link.inprocess import LocalLink
from firmware.link.programs import LocalAttachment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from device.core.device import Device
    from device.shell.hostmemory import HostMemory
    from device.shell.pump import Pump
    from firmware.abi.handshake import Hello


@final
class LocalDevices:
    """Attaches drivers of this process to its devices (see `firmware.link.programs`).

    Owner: the emulator.
    """

    __slots__ = ("_clock", "_devices", "_memory", "_pump")

    def __init__(
        self,
        devices: Sequence[Device],
        pump: Pump,
        memory: HostMemory,
        clock: Callable[[], int],
    ) -> None:
        self._devices = tuple(devices)
        self._pump = pump
        self._memory = memory
        self._clock = clock

    @property
    def count(self) -> int:
        """How many devices there are."""
        return len(self._devices)

    def attach(self, index: int, hello: Hello, pid: int) -> LocalAttachment:
        """Attach a client whose pages are those of process `pid` (see `LocalDevices`)."""
        device = self._devices[index]
        offer = Offer(device_count=len(self._devices))
        features = hello.features & offer.features & device.features
        agreement = Agreement(
            offer=offer, hello=hello, abi_minor=offer.abi_minor, features=features
        )
        with contextlib.ExitStack() as undo:
            try:
                link, descriptor = LocalLink.shared(device.segment_plan.size, pid)
                undo.callback(os.close, descriptor)
                undo.callback(link.close)
                connection = Connection(link.end, name_in(hello), features, self._memory)
                number = device.attach(connection, hello.purpose, self._clock(), features=features)
            except DeviceError as error:
                refusal = refusal_of(error, offer)
                text = explain(refusal, hello)
                raise Refused(refusal.status, refusal.detail, text) from error
            attached = self._pump.attach(index, number, connection)
            undo.pop_all()
        end = link.welcome(agreement.welcome(link.end.segment.size, number), hello, _rest)
        return LocalAttachment(
            end,
            descriptor,
            detach=lambda: self._pump.detach(attached),
            look_after=lambda: device.ring(number),
        )

    def watch(self, descriptor: int, handler: Callable[[], None], *, hang_up: bool = False) -> None:
        """Call `handler` while a descriptor is readable, or has hung up."""
        poller = self._pump.poller
        (poller.on_hang_up if hang_up else poller.on_readable)(descriptor, handler)

    def unwatch(self, descriptor: int) -> None:
        """Forget a descriptor."""
        self._pump.poller.remove(descriptor)


def _rest() -> bool:
    """Let no device work: the pump does."""
    return False
