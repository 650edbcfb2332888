"""In front of a device's rounds of work: what several taps do before and after each round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.effects import WakeAt
from device.core.engine import Activity
from firmware.inject import Site

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.device import Device
    from device.core.effects import Effect
    from device.core.engine import WorkQueue
    from device.core.inside import Rounds
    from firmware.abi.work import FenceWrite
    from firmware.inject import Hit, Injector

NANOSECONDS: Final = 1_000_000_000


class AroundRounds:
    """A tap that has something to do before or after each round of work.

    Owner: a board. What it holds back it lets go in `remove`, or in the next round once the rule is
    gone.
    """

    points: frozenset[str] = frozenset()
    makes_rounds = True
    """Whether a round at `wake_at` is one in which the device has something to do."""

    def __init__(self, rounds: InjectedRounds) -> None:
        """Come in at `rounds`, which the taps of one device share."""
        self.rounds = rounds

    @property
    def stalls(self) -> bool:
        """Whether the device does nothing now."""
        return False

    @property
    def wake_at(self) -> int | None:
        """Device time at which `before` has something to do, if only time is missing."""
        return None

    def install(self) -> None:
        """Come in."""
        self.rounds.enter(self)

    def remove(self) -> None:
        """Go out."""
        self.rounds.leave(self)

    def wants_round(self) -> bool:
        """Whether a device that does nothing has to work all the same, to hear of something."""
        return False

    def before(self, now: int) -> None:
        """Do what comes before a round."""

    def after(self, now: int, effects: list[Effect]) -> list[Effect]:
        """Return what the shell has to do after a round that asked for `effects`."""
        del now
        return effects


@final
class InjectedRounds:
    """Does the rounds of one device, with taps around them (see `device.core.inside.Rounds`).

    Owner: the taps of one device. Invariant: it is in front of the rounds while a tap has entered;
    if something else came in front of it meanwhile it stays, and passes everything on.
    """

    def __init__(self, device: Device, injector: Injector) -> None:
        self.device: Final = device
        self.inside: Final = device.inside
        self.injector: Final = injector
        self.state: Final = device.inside.blocks.state
        self._inner: Rounds | None = None
        self._taps: list[AroundRounds] = []
        self._looks_only = False
        """Whether the next round is made for a tap that came or went, and for nothing else."""
        self._wakes_at: int | None = None
        """Device time at which the device itself wanted another round."""
        self.has_reason = True
        """Whether the device has something to do in this round."""

    def enter(self, tap: AroundRounds) -> None:
        """Take a tap; the first one brings this in front of the rounds."""
        self._taps.append(tap)
        if self._inner is None:
            self._inner, self.device.rounds = self.device.rounds, self
        self._look()

    def leave(self, tap: AroundRounds) -> None:
        """Forget a tap; the last one takes this away."""
        self._taps.remove(tap)
        if not self._taps and self._inner is not None and self.device.rounds is self:
            self.device.rounds, self._inner = self._inner, None
        self._look()

    def stir(self) -> None:
        """Let the device work a round: there is something to do."""
        self._looks_only = False
        self.inside.pump.dirty = True

    def watch(self, looks: int) -> bool:
        """Look for something to do (see `Rounds`)."""
        if self._stalled():
            return any(tap.wants_round() for tap in self._taps)
        now = self.state.now
        if any(at is not None and at <= now for at in self._wakes()):
            return True
        return self._inner is not None and self._inner.watch(looks)

    def work(self, now: int) -> list[Effect]:
        """Do one round (see `Rounds`)."""
        self.has_reason = self._has_reason(now)
        self._looks_only = False
        for tap in self._taps:
            tap.before(now)
        if self._stalled() or self._inner is None:
            # What was lost is told of; nothing else happens.
            effects = self.inside.supervisor.take_effects()
        else:
            effects = self._inner.work(now)
            self._wakes_at = min((e.tick for e in effects if isinstance(e, WakeAt)), default=None)
        for tap in self._taps:
            effects = tap.after(now, effects)
        wakes = [at for at in self._wakes() if at is not None]
        return [*effects, WakeAt(min(wakes))] if wakes else effects

    def signal(self, queue: WorkQueue, command: FenceWrite) -> None:
        """Signal a fence behind its command's back, unless its queue or pool has gone."""
        pool = queue.client.pools.get(command.pool)
        if queue.activity is Activity.GONE or pool is None or command.slot >= pool.count:
            return
        if pool.value(command.slot) < command.value:
            self.inside.blocks.scheduler.fences.write(queue, command)
            self.stir()

    def ask(self, point: str, site: Site) -> Hit | None:
        """Tell the injector that a point is reached; return what to do there."""
        return self.injector.ask(point, site)

    def site(
        self,
        client: Client | None = None,
        *,
        ring: str = "",
        opcode: str = "",
        address: int = -1,
        size: int = 0,
        number: int = 0,
    ) -> Site:
        """Return a site of this device, and of a client."""
        return Site(
            device=self.state.device_index,
            pid=0 if client is None else client.port.pid,
            process="" if client is None else client.port.name,
            ring=ring,
            opcode=opcode,
            address=address,
            size=size,
            object=number,
        )

    def _look(self) -> None:
        """Let the device do a round in which taps begin, or let go of what they held."""
        pump = self.inside.pump
        self._looks_only = self._looks_only or not pump.dirty
        pump.dirty = True

    def _has_reason(self, now: int) -> bool:
        """Return whether there is anything to do beside what changed rules ask for."""
        pump = self.inside.pump
        if pump.dirty and not self._looks_only:
            return True
        if any(
            tap.makes_rounds and (at := tap.wake_at) is not None and at <= now for tap in self._taps
        ):
            return True
        if self._wakes_at is not None and self._wakes_at <= now:
            return True
        if self._inner is None:
            return False
        dirty, pump.dirty = pump.dirty, False
        try:
            return self._inner.watch(1)
        finally:
            pump.dirty = dirty

    def _stalled(self) -> bool:
        return any(tap.stalls for tap in self._taps)

    def _wakes(self) -> list[int | None]:
        return [tap.wake_at for tap in self._taps]


def ticks(seconds: float) -> int:
    """Return a time of a rule in ticks of the device."""
    return int(seconds * NANOSECONDS)
