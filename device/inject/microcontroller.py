"""The micro-controller: what its firmware answers, and images that it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from device.core.acknowledge import Acknowledgement
from device.core.firmware import BootRefused, Pending, refusal
from device.inject.records import CONTROL, facts_of
from device.inject.rounds import AroundRounds, ticks
from device.inject.whole import LostFirmware
from firmware.abi.registers import BootError, Phase
from firmware.abi.status import Status
from firmware.inject.actions import BadImage, Crash, Delay, Drop, ReplyStatus

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.effects import Effect
    from device.core.firmware import BootImage, Firmware, Loader
    from device.inject.rounds import InjectedRounds


class _Late(NamedTuple):
    """A reply that waits."""

    rule: str
    due: int | None
    """Device time at which it goes out; None: when its rule goes."""
    first: Acknowledgement | None
    """What it waits for anyway."""
    then: Acknowledgement


@final
class InjectedFirmware:
    """Firmware with what rules do to it (see `device.core.firmware.Firmware`)."""

    def __init__(self, inner: Firmware, tap: FirmwareTap) -> None:
        self.inner = inner
        self._tap = tap

    def handle(self, client: Client, command: bytes, now: int) -> bytes | Pending:
        """Carry out a command, or do what a rule says."""
        return self._tap.handle(self.inner, client, command, now)


@final
class FirmwareTap(AroundRounds):
    """Reaches `mcu.command` in front of the firmware, also of one that a reset has started."""

    points = frozenset({"mcu.command"})

    def __init__(self, rounds: InjectedRounds) -> None:
        super().__init__(rounds)
        self._late: list[_Late] = []
        self._crashed = False

    @property
    def wake_at(self) -> int | None:
        """Device time at which a reply goes out."""
        return min((one.due for one in self._late if one.due is not None), default=None)

    def install(self) -> None:
        """Come in."""
        super().install()
        self._wrap()

    def remove(self) -> None:
        """Go out; replies that were held back go out in the next round."""
        mcu = self.rounds.inside.mcu
        if isinstance(mcu.firmware, InjectedFirmware):
            mcu.firmware = mcu.firmware.inner
        self._let_go(self.rounds.state.now, everything=True)
        super().remove()

    def before(self, now: int) -> None:
        """Come in front of new firmware, and let replies go that are due."""
        self._wrap()
        self._let_go(now, everything=False)

    def after(self, now: int, effects: list[Effect]) -> list[Effect]:
        """Reset the device when its firmware has crashed in this round."""
        del now
        if not self._crashed:
            return effects
        self._crashed = False
        supervisor = self.rounds.inside.supervisor
        if not supervisor.halted:
            supervisor.reset()
        return [*effects, *supervisor.take_effects()]

    def handle(
        self, firmware: Firmware, client: Client, command: bytes, now: int
    ) -> bytes | Pending:
        """Have firmware carry out a command, or do what a rule says."""
        if self._crashed:
            return refusal(command, Status.DEVICE_LOST)
        facts = facts_of(command, CONTROL)
        site = self.rounds.site(client, opcode=facts.opcode, number=facts.number)
        hit = self.rounds.ask("mcu.command", site)
        match None if hit is None else hit.action:
            case ReplyStatus(status=status):
                return refusal(command, Status[status])
            case Crash():
                self._crashed = True
                return refusal(command, Status.DEVICE_LOST)
            case Drop() if hit is not None:
                return self._hold(hit.rule, None, firmware.handle(client, command, now))
            case Delay(seconds=seconds) if hit is not None:
                due = now + ticks(seconds)
                return self._hold(hit.rule, due, firmware.handle(client, command, now))
            case _:
                return firmware.handle(client, command, now)

    def _hold(self, rule: str, due: int | None, answer: bytes | Pending) -> Pending:
        """Return the answer as one that waits."""
        reply, first = answer if isinstance(answer, Pending) else (answer, None)
        then = Acknowledgement(passed=False)
        self._late.append(_Late(rule, due, first, then))
        return Pending(reply, then)

    def _let_go(self, now: int, *, everything: bool) -> None:
        has = self.rounds.injector.has
        still: list[_Late] = []
        for one in self._late:
            is_due = one.due is not None and one.due <= now
            is_over = everything or is_due or not has(one.rule)
            if is_over and (one.first is None or one.first.passed):
                one.then.settle()
            elif everything and one.first is not None:
                self._leave_to_engines(one.first, one.then)
            else:
                still.append(one)
        self._late = still

    def _leave_to_engines(self, first: Acknowledgement, then: Acknowledgement) -> None:
        """Let a reply wait for nothing any more but what it waited for anyway."""
        waiting = self.rounds.inside.blocks.acknowledgements
        waiting.wait(lambda: first.passed, then.settle)

    def _wrap(self) -> None:
        mcu = self.rounds.inside.mcu
        firmware = mcu.firmware
        if firmware is not None and not isinstance(firmware, InjectedFirmware | LostFirmware):
            mcu.firmware = InjectedFirmware(firmware, self)


@final
class BootTap(AroundRounds):
    """Reaches `mcu.boot` in front of the boot code, also when a reset boots the image again."""

    points = frozenset({"mcu.boot"})

    def __init__(self, rounds: InjectedRounds) -> None:
        super().__init__(rounds)
        self._inner: Loader = rounds.inside.mcu.loader
        self._refused: tuple[str, bytes] | None = None
        """Rule and image of the last boot that a rule refused."""

    def install(self) -> None:
        """Come in."""
        super().install()
        mcu = self.rounds.inside.mcu
        self._inner, mcu.loader = mcu.loader, self

    def remove(self) -> None:
        """Go out; the image that was refused is booted."""
        mcu = self.rounds.inside.mcu
        if mcu.loader is self:
            mcu.loader = self._inner
        self._boot()
        super().remove()

    def before(self, now: int) -> None:
        """Boot the image that was refused once the rule is gone."""
        del now
        if self._refused is not None and not self.rounds.injector.has(self._refused[0]):
            self._boot()

    def load(self, image: bytes) -> BootImage:
        """Verify an image (see `device.core.firmware.Loader`), or refuse it.

        Raises:
            BootRefused: the device cannot boot it, or a rule says so.
        """
        hit = self.rounds.ask("mcu.boot", self.rounds.site())
        if hit is None or not isinstance(hit.action, BadImage):
            self._refused = None
            return self._inner.load(image)
        self._refused = hit.rule, image
        error = BootError[hit.action.error]
        text = f"firmware image refused ({error.name}) by rule {hit.rule!r}"
        raise BootRefused(error, 0, text)

    def _boot(self) -> None:
        refused, self._refused = self._refused, None
        if refused is not None and self.rounds.state.lifecycle.phase is Phase.BOOT:
            self.rounds.device.boot(refused[1], self.rounds.state.now)
