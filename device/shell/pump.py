"""The pump: the one task in which all devices of an emulator work.

Awake, it polls the doorbell words and never goes through trio's scheduler for a command; it gives
way every millisecond. When nothing came for 150 us it waits on one descriptor (see `poller`), for a
millisecond by itself and then as a task that sleeps.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final, final

import trio

from device.core.effects import Disconnect, Halted, Notify, RunChunk, WakeAt, WakeSlot
from device.core.errors import InternalError
from device.shell.deadlines import Deadlines
from device.shell.lookout import Lookout
from device.shell.poller import Poller
from device.shell.pump_statistics import PumpStatistics
from device.shell.roster import Roster
from device.shell.slots import wake_slots
from device.shell.spinner import Spinner
from firmware.link.bells import EventfdBell
from firmware.link.sleep import may_sleep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from device.core.device import Device
    from device.core.effects import Effect
    from device.shell.connection import Connection
    from device.shell.roster import Attached
    from device.shell.workers import Workers
    from firmware.link.programs import ProgramHost

BREATH_SECONDS: Final = 1e-3
"""Longest time in which other tasks, deaths and finished chunks are not looked at."""
SCRUB_BYTES: Final = 1 << 20
"""Bytes of former owners that are zeroed at a time before the pump sleeps (about 0.1 ms)."""


@final
class Pump:
    """Runs the devices and carries out their effects.

    Owner: the emulator. Invariants: devices are touched in the task that runs `run`, or by the
    server between two of its steps (one thread, so never at once); a client is in the roster from
    before its welcome until its device has detached it.
    """

    __slots__ = (
        "_clock",
        "_deadlines",
        "_devices",
        "_dozes",
        "_emptied",
        "_fell_asleep",
        "_lookout",
        "_nudge",
        "_roster",
        "_sleeps",
        "_spinner",
        "_spins",
        "_turns",
        "_workers",
        "first_attached",
        "poller",
    )

    def __init__(
        self,
        devices: Sequence[Device],
        clock: Callable[[], int],
        workers: Workers,
        *,
        may_spin: bool = True,
    ) -> None:
        """Serve `devices`; `clock` gives device time in nanoseconds."""
        self._devices = tuple(devices)
        self._clock = clock
        self._workers = workers
        self.poller = Poller()
        """What the pump sleeps on; others may have descriptors in it."""
        self.poller.on_readable(workers.bell.fileno(), self._collect)
        self._nudge = EventfdBell()
        self.poller.on_readable(self._nudge.fileno(), self._nudged)
        self._roster = Roster(self.poller, self._ring, self.detach)
        self._lookout = Lookout(self._devices)
        self._spinner = Spinner(may_spin=may_spin)
        self._deadlines = Deadlines(clock, len(self._devices))
        self._turns = 0
        self._sleeps = 0
        self._spins = 0
        self._dozes = 0
        self.first_attached = trio.Event()
        """Set once a client was attached."""
        self._emptied = trio.Event()
        self._fell_asleep = trio.Event()

    @property
    def client_count(self) -> int:
        """Clients attached now."""
        return len(self._roster)

    def attach(self, device_index: int, client_id: int, connection: Connection) -> Attached:
        """Serve a client from now on; to be called before the client gets its welcome.

        Raises:
            OSError: no memory to watch it; it is not attached.
        """
        attached = self._roster.add(device_index, client_id, connection)
        self._lookout.prepare()
        # Nobody asked this client to ring: the pump looks at its rings before it sleeps again.
        self._nudge.ring()
        self.first_attached.set()
        return attached

    async def when_empty(self) -> None:
        """Return when no client is attached."""
        while len(self._roster):
            self._emptied = trio.Event()
            await self._emptied.wait()

    def work_soon(self) -> None:
        """Let every device work once, whether it has anything to do or not."""
        for index in range(len(self._devices)):
            self._deadlines.add(index, self._clock())
        self._nudge.ring()

    def serve_programs(self, host: ProgramHost) -> None:
        """Carry on the drivers of C programs between the turns of the devices."""
        self._lookout.programs = host

    def detach(self, attached: Attached) -> None:
        """End a client's session: the device takes back all it owned, the link is closed."""
        if self._roster.remove(attached):
            self._devices[attached.device_index].detach(attached.client_id, self._clock())
            attached.close()
            if not len(self._roster):
                self._emptied.set()
            # The device has to work on what is left, also when the server ended the session.
            self._nudge.ring()

    async def settled(self) -> None:
        """Return once all deaths were seen, all rings looked at and no chunk is in flight."""
        while True:
            self._fell_asleep = trio.Event()
            self._nudge.ring()
            await self._fell_asleep.wait()
            if not self._workers.in_flight:
                return

    async def run(self) -> None:
        """Work until cancelled.

        Raises:
            InternalError: a device halted.
        """
        # Not device time, which may stand still.
        clock = time.perf_counter
        while True:
            breath = clock() + BREATH_SECONDS
            while clock() < breath:
                if not self._turn() and not self._spin() and not self._doze():
                    await self._sleep()
                    break
            else:
                await trio.lowlevel.checkpoint()
            self.poller.dispatch()

    def close(self) -> None:
        """Detach every client and let go of the poller; the pump does not run any more."""
        for attached in self._roster.all():
            self.detach(attached)
        self.poller.close()
        self._nudge.close()

    def statistics(self) -> PumpStatistics:
        """Return what the pump did."""
        return PumpStatistics(
            self._turns, self._sleeps, self._dozes, self._spins, len(self._roster)
        )

    def _turn(self, looks: int = 1) -> bool:
        """Let every device that has something to do work once; return whether any had."""
        busy = False
        for index, device in enumerate(self._devices):
            if device.watch(looks) or self._deadlines.is_due(index):
                self._deadlines.clear(index)
                self._turns += 1
                self._carry_out(index, device.work(self._clock()))
                busy = True
        programs = self._lookout.programs
        return (programs is not None and programs.poll()) or busy

    def _ring(self, attached: Attached) -> None:
        self._devices[attached.device_index].ring(attached.client_id)

    def _carry_out(self, index: int, effects: list[Effect]) -> None:
        """Do what a device asks for; clients are told before anything else happens to them."""
        if len(effects) == 1 and isinstance(effects[0], Notify):
            self._tell(index, effects[0].client_id, [effects[0]])
            return
        notices: dict[int, list[Notify]] = {}
        slots: list[WakeSlot] = []
        others: list[RunChunk | WakeAt | Disconnect | Halted] = []
        for effect in effects:
            if isinstance(effect, Notify):
                notices.setdefault(effect.client_id, []).append(effect)
            elif isinstance(effect, WakeSlot):
                slots.append(effect)
            else:
                others.append(effect)
        wake_slots(slots)
        for client_id, told in notices.items():
            self._tell(index, client_id, told)
        for other in others:
            self._do(index, other)

    def _tell(self, index: int, client_id: int, told: list[Notify]) -> None:
        attached = self._roster.find(index, client_id)
        if attached is not None and attached.notifier.notify(told):
            self._devices[index].note_interrupt(client_id)

    def _do(self, index: int, effect: RunChunk | WakeAt | Disconnect | Halted) -> None:
        match effect:
            case RunChunk():
                self._workers.start(index, effect.chunk)
            case WakeAt():
                self._deadlines.add(index, effect.tick)
            case Disconnect():
                attached = self._roster.find(index, effect.client_id)
                if attached is not None:
                    self.detach(attached)
            case Halted():
                raise InternalError(f"device {index} halted: {effect.reason}")

    def _nudged(self) -> None:
        self._nudge.clear()

    def _collect(self) -> None:
        """Give finished chunks back to their devices."""
        for finished in self._workers.collect():
            if finished.chunk is not None:
                self._devices[finished.device_index].chunk_done(finished.chunk, self._clock())

    def _spin(self) -> bool:
        """Poll for a moment; return whether there was something to do."""
        # Copies in flight need the interpreter: a spinning pump would take half of it from them.
        if not self._spinner.wants() or self._workers.in_flight or not len(self._roster):
            return False
        self._spins += 1
        if self._lookout.spin(self._turn, len(self._roster), self._deadlines.seconds_left()):
            self._spinner.paid()
            return True
        self._spinner.failed()
        return False

    def _doze(self) -> bool:
        """Wait for a moment without trio; return whether there may be something to do.

        Waking up here takes 15 us less, and a pause between two commands is mostly short. Trio's
        other tasks wait no longer than they do while there is work.
        """
        if any(device.scrub(SCRUB_BYTES) for device in self._devices):
            return True
        if not may_sleep(self._prepare_sleep, self._has_work):
            return True
        self._dozes += 1
        seconds = min(BREATH_SECONDS, self._deadlines.seconds_left())
        # Copies in flight are done soon: no need to fall asleep.
        return self.poller.dispatch(seconds) or self._workers.in_flight > 0

    async def _sleep(self) -> None:
        """Sleep until a bell, a death, a finished chunk or the next deadline."""
        self._sleeps += 1
        self._fell_asleep.set()
        seconds = self._deadlines.seconds_left()
        if seconds == math.inf:
            # Without the cancel scope, which costs 7 us on the way to a command.
            await trio.lowlevel.wait_readable(self.poller.fileno())
            return
        with trio.move_on_after(seconds):
            await trio.lowlevel.wait_readable(self.poller.fileno())

    def _prepare_sleep(self) -> None:
        """Let every device ask its clients to ring; its next work takes that back."""
        for device in self._devices:
            device.prepare_sleep()
        if self._lookout.programs is not None:
            self._lookout.programs.set_asleep(asleep=True)

    def _has_work(self) -> bool:
        """Return whether a device has something to do; looks at every doorbell word."""
        programs = self._lookout.programs
        busy = programs is not None and programs.has_work()
        return busy or any(device.has_work for device in self._devices)
