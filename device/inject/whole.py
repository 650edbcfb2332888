"""The device as a whole: reset, hung, wedged, pulled out, lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from device.core.effects import Disconnect
from device.core.firmware import refusal
from device.core.lifecycle import Trigger
from device.inject.rounds import AroundRounds, ticks
from firmware.abi.status import Status
from firmware.inject.actions import DeviceLost, Hang, Remove, Reset, Wedge

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.firmware import Firmware
    from device.inject.rounds import InjectedRounds
    from firmware.inject import Action, Hit


_MARGIN: Final = 1_000
"""Nanoseconds after a rule begins: by then its age in seconds says so as well."""


@final
class LostFirmware:
    """Firmware of a lost device: it answers everything with DEVICE_LOST."""

    def handle(self, client: Client, command: bytes, now: int) -> bytes:
        """Refuse a command (see `device.core.firmware.Firmware`)."""
        del client, now
        return refusal(command, Status.DEVICE_LOST)


class _Held(NamedTuple):
    """What a rule did to the device, until it goes or the device is reset."""

    rule: str
    action: Action
    resets: int
    """RESET_COUNT at that time."""
    firmware: Firmware | None
    """What carried out commands before."""


@final
class WholeDeviceTap(AroundRounds):
    """Reaches `device.round` before each round.

    A device that hangs does nothing at all until it is reset; one that is wedged or pulled out is
    without power until the rule goes; a lost one answers DEVICE_LOST until a reset.
    """

    points = frozenset({"device.round"})

    def __init__(self, rounds: InjectedRounds) -> None:
        super().__init__(rounds)
        self._held: _Held | None = None
        self._lost = LostFirmware()
        self._begins: list[int] = []
        """Device times from which rules with `after_seconds` fire, if no round came since."""
        self._changes = -1

    @property
    def wake_at(self) -> int | None:
        """Device time at which a rule begins: the device does a round by itself then."""
        self._see()
        return min(self._begins, default=None)

    @property
    def stalls(self) -> bool:
        """Whether the device does nothing now."""
        return self._held is not None and isinstance(self._held.action, Hang | Wedge | Remove)

    def remove(self) -> None:
        """Go out; the device is as it should be."""
        self._let_go()
        super().remove()

    def wants_round(self) -> bool:
        """Whether what the rule did is over, or a client asks a device that hangs for a reset."""
        if self._held is None or self._is_over(self._held):
            return True
        return isinstance(self._held.action, Hang) and self._is_reset_asked_for()

    def before(self, now: int) -> None:
        """See what is over, and whether something begins."""
        held = self._held
        if held is not None and (self._is_over(held) or self._is_reset_asked_for()):
            self._let_go()
        self._see()
        self._begins = [begin for begin in self._begins if begin > now]
        if self._held is None and self.rounds.has_reason:
            hit = self.rounds.ask("device.round", self.rounds.site())
            if hit is not None:
                self._carry_out(hit)

    def _see(self) -> None:
        """Learn when the rules that there are now begin."""
        injector = self.rounds.injector
        if self._changes == injector.changes:
            return
        self._changes = injector.changes
        now, site = self.rounds.state.now, self.rounds.site()
        self._begins = [
            begin
            for rule in injector.standing("device.round")
            if rule.rule.when.after_seconds and rule.rule.selects(site)
            if (begin := ticks(rule.begins) + _MARGIN) > now
        ]

    def _carry_out(self, hit: Hit) -> None:
        inside = self.rounds.inside
        supervisor = inside.supervisor
        match hit.action:
            case Reset():
                if self.rounds.state.lifecycle.allows(Trigger.RESET):
                    supervisor.reset()
                return
            case Wedge():
                supervisor.power_off()
            case Remove():
                supervisor.power_off()
                for number in self.rounds.state.clients:
                    supervisor.effects.append(Disconnect(number, Status.DEVICE_LOST))
            case DeviceLost():
                supervisor.lose_everybody()
            case _:
                pass
        self._held = _Held(hit.rule, hit.action, self.rounds.state.reset_count, inside.mcu.firmware)
        if isinstance(hit.action, DeviceLost) and inside.mcu.firmware is not None:
            inside.mcu.firmware = self._lost

    def _let_go(self) -> None:
        """Undo what a rule did, unless a reset has done so."""
        held, self._held = self._held, None
        if held is None:
            return
        inside = self.rounds.inside
        if isinstance(held.action, Wedge | Remove):
            inside.supervisor.power_on()
        elif inside.mcu.firmware is self._lost:
            inside.mcu.firmware = held.firmware

    def _is_over(self, held: _Held) -> bool:
        """Whether the rule is gone, or the device was reset since."""
        if not self.rounds.injector.has(held.rule):
            return True
        return self.rounds.state.reset_count != held.resets

    def _is_reset_asked_for(self) -> bool:
        """Whether a client stored RESET_REQUEST, which works whatever else hangs."""
        return self.stalls and any(
            client.counted and client.lost is None and client.registers.wants_reset
            for client in self.rounds.state.clients.values()
        )
