"""The devices of a pair, their clients and their clock.

This is the one module of `testing` that knows the device; `hostdriver/cli/emulator.py` is the other
one in all of the driver.
"""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, final

from device.core.device import Device
from device.core.effects import Disconnect, Halted, Notify, RunChunk, WakeAt, WakeSlot
from device.core.errors import DeviceError
from device.core.ports import Ports
from device.core.spec import DeviceSpec, Profile
from device.mcu import BootCode
from device.shell.connection import Connection
from device.shell.hostmemory import HostMemory
from device.shell.refusals import refusal_of
from device.shell.slots import wake_slots
from firmware.abi.handshake import Welcome
from firmware.image import reference_image
from firmware.link.errors import Refused
from firmware.link.handshake import Offer, examine, explain, name_in, say_hello
from firmware.link.inprocess import LocalLink
from firmware.link.linux import map_anonymous
from hostdriver.testing.waiting import StepWaiter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from device.core.effects import Effect
    from device.core.firmware import BootImage
    from firmware.link.ends import HostEnd
    from firmware.link.notify import Notifier
    from firmware.link.segment import Segment

TURN_TICKS: Final = 100
"""How far the clock moves with each turn of a device."""
LOOK_TICKS: Final = 1_000
"""How far it moves with each look of a program that does not wait."""
EMULATOR_ID: Final = 0xE0E0_2ED0


@final
class _Tokens:
    """Tokens that nobody would guess, the same in every run."""

    def __init__(self) -> None:
        self._count = 0

    def token(self) -> bytes:
        """Return the next one."""
        self._count += 1
        return hashlib.blake2b(self._count.to_bytes(8, "little"), digest_size=16).digest()


@cache
def _reference() -> BootImage:
    """Return the reference firmware, verified once for all devices of the process."""
    return BootCode().load(reference_image())


@final
class _Loader:
    """Boot code that knows the reference firmware."""

    def load(self, image: bytes) -> BootImage:
        """Verify an image (see `device.core.firmware.Loader`)."""
        return _reference() if image == reference_image() else BootCode().load(image)


@final
class _Client:
    """One attached client: its connection, and what leads to it."""

    def __init__(self, index: int, link: LocalLink, connection: Connection) -> None:
        self.index = index
        self.link = link
        self.connection = connection
        self.notifier: Notifier = link.end.notifier()


@final
class World:
    """Devices, their clients and their clock.

    Owner: a pair. Invariants: devices work in `run` alone; every client in `clients` is attached to
    its device, and one whose driver hung up is detached before a device works again.
    """

    def __init__(self, specs: Sequence[DeviceSpec]) -> None:
        self.now = 0
        self.held = False
        self.programs: list[Callable[[], bool]] = []
        """What is asked when devices are at rest: whether a program went on (see `Stepped`)."""
        self.memory = HostMemory()
        self._clients: dict[tuple[int, int], _Client] = {}
        self._wakes: dict[int, int] = {}
        self._vram = [map_anonymous(spec.vram_size) for spec in specs]
        ports = Ports(tokens=_Tokens(), system_memory=self.memory)
        image = reference_image()
        self.devices = tuple(
            Device(
                spec,
                vram.view,
                ports,
                _Loader(),
                image,
                device_index=index,
                emulator_id=EMULATOR_ID,
                strict=True,
            )
            for index, (spec, vram) in enumerate(zip(specs, self._vram, strict=True))
        )

    def attach(self, index: int, name: str) -> HostEnd:
        """Attach a driver to one device, as the emulator's server does.

        Raises:
            Refused: the device takes no more clients.
        """
        hello = say_hello(name, device_index=index)
        offer = Offer(device_count=len(self.devices))
        agreement = examine(hello.pack(), offer)
        device = self.devices[index]
        with ExitStack() as undo:
            try:
                link = LocalLink(device.segment_plan.size)
            except DeviceError as error:
                refusal = refusal_of(error, offer)
                raise Refused(refusal.status, refusal.detail, explain(refusal, hello)) from error
            undo.callback(link.close)
            if isinstance(agreement, Welcome):
                return link.welcome(agreement, hello, self.run)
            features = agreement.features & device.features
            connection = Connection(link.end, name_in(hello), features, self.memory)
            try:
                number = device.attach(connection, hello.purpose, self.now, features=features)
            except DeviceError as error:
                return link.welcome(refusal_of(error, offer), hello, self.run)
            agreed = replace(agreement, features=features)
            welcome = agreed.welcome(link.end.segment.size, number)
            end = link.welcome(welcome, hello, self.run)
            undo.pop_all()
        self._clients[index, number] = _Client(index, link, connection)
        link.listen(doorbell=lambda: self._rung(index, number))
        self.run()

        def waiter_of(segment: Segment) -> StepWaiter:
            return StepWaiter(segment.words, end.liveness, self)

        return replace(end, waiter=waiter_of(end.segment), waiter_of=waiter_of)

    def run(self) -> bool:
        """Let every device work until all are at rest; return whether any did anything."""
        worked = self._detach_lost()
        while self._turn():
            worked = True
        for device in self.devices:
            device.prepare_sleep()
        return worked

    def step(self) -> bool:
        """Give each device that has something to do one turn; return whether any had."""
        lost = self._detach_lost()
        return self._turn() or lost

    def carry_on(self) -> bool:
        """Let programs do what their work asks of them (see `Stepped`)."""
        return any(carry_on() for carry_on in self.programs)

    def glance(self) -> None:
        """Let a moment pass for a program that looks (see `Stepped`)."""
        self.now += LOOK_TICKS
        if not self.held:
            self.run()

    def pass_time(self, until: int | None) -> bool:
        """Move the clock to the next thing that happens (see `Stepped`)."""
        wanted = [*self._wakes.values(), *([] if until is None else [until])]
        if not wanted:
            return False
        self.now = max(self.now, min(wanted))
        return True

    def close(self) -> None:
        """Detach every client and give device memory back."""
        for index, number in tuple(self._clients):
            self._detach(index, number)
        for vram in self._vram:
            vram.close()

    def _rung(self, index: int, number: int) -> None:
        self.devices[index].ring(number)
        if not self.held:
            self.run()

    def _turn(self) -> bool:
        worked = False
        for index, device in enumerate(self.devices):
            is_due = self._wakes.get(index, self.now + 1) <= self.now
            if device.has_work or is_due:
                self._wakes.pop(index, None)
                self.now += TURN_TICKS
                self._carry_out(index, device.work(self.now))
                worked = True
        return worked

    def _carry_out(self, index: int, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Notify():
                    self._notify(index, effect)
                case WakeSlot():
                    wake_slots((effect,))
                case RunChunk():
                    effect.chunk.run()
                    self.devices[index].chunk_done(effect.chunk, self.now)
                case WakeAt():
                    self._wakes[index] = min(effect.tick, self._wakes.get(index, effect.tick))
                case Disconnect():
                    self._detach(index, effect.client_id)
                case Halted():
                    raise AssertionError(f"device {index} halted: {effect.reason}")

    def _notify(self, index: int, notice: Notify) -> None:
        client = self._clients.get((index, notice.client_id))
        if client is not None and client.notifier.notify((notice,)):
            self.devices[index].note_interrupt(notice.client_id)

    def _detach_lost(self) -> bool:
        """Detach the clients whose driver hung up; return whether there were any."""
        lost = [key for key, client in self._clients.items() if client.link.end.peer.lost()]
        for index, number in lost:
            self._detach(index, number)
        return bool(lost)

    def _detach(self, index: int, number: int) -> None:
        client = self._clients.pop((index, number), None)
        if client is not None:
            self.devices[index].detach(number, self.now)
            client.link.end.close()


__all__ = ["Device", "DeviceSpec", "Profile", "World"]
