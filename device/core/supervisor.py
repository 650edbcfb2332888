"""Resets, bugs and the end: what happens to everybody at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.checks import check_device
from device.core.effects import Disconnect, Halted
from device.core.errors import DeviceError
from device.core.lifecycle import Trigger
from firmware.abi.registers import Phase
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.blocks import Blocks
    from device.core.clients import Client
    from device.core.effects import Effect
    from device.core.micro_controller import MicroController
    from device.core.publisher import Publisher


@final
class Supervisor:
    """Ends sessions that cannot go on.

    Owner: the device. A bug of ours while one client is served costs that client its session; only
    if the invariants do not hold then does the device halt. With `strict` the bug raises instead.
    `effects` waits for the next call of `work`.
    """

    __slots__ = ("_blocks", "_mcu", "_publisher", "_strict", "effects", "halted", "last_bug")

    def __init__(
        self, blocks: Blocks, mcu: MicroController, publisher: Publisher, *, strict: bool
    ) -> None:
        self._blocks = blocks
        self._mcu = mcu
        self._publisher = publisher
        self._strict = strict
        self.effects: list[Effect] = []
        self.halted = False
        """Whether the phase is HALTED."""
        self.last_bug: Exception | None = None
        """The last bug that ended a session, for a dump."""

    def take_effects(self) -> list[Effect]:
        """Return the effects that wait, and forget them."""
        effects, self.effects = self.effects, []
        return effects

    def check(self) -> None:
        """Raise InvariantError when anything in the device contradicts anything."""
        blocks = self._blocks
        blocks.scheduler.check()
        check_device(blocks.state, blocks.hardware, blocks.memory)

    def drain(self) -> None:
        """Take no new clients; those that are here go on."""
        lifecycle = self._blocks.state.lifecycle
        if lifecycle.allows(Trigger.DRAIN):
            lifecycle.fire(Trigger.DRAIN)
            self._publisher.everything()

    def reset(self) -> None:
        """Lose every session and start the firmware again.

        Raises:
            DeviceError: DEVICE_LOST (detail: register STATUS) when the device halted.
        """
        blocks = self._blocks
        state = blocks.state
        if not state.lifecycle.allows(Trigger.RESET):
            raise DeviceError(Status.DEVICE_LOST, int(blocks.hardware.reports.status()))
        draining = state.lifecycle.phase is Phase.DRAINING
        self._mcu.stop(Trigger.RESET)
        state.reset_count += 1
        self.lose_everybody()
        self._mcu.restart()
        if draining and state.lifecycle.allows(Trigger.DRAIN):
            state.lifecycle.fire(Trigger.DRAIN)
        self._publisher.everything()

    def lose_everybody(self) -> None:
        """End every session; those who attach later are served."""
        for client in self._blocks.state.clients.values():
            if client.lost is None:
                self.effects.append(self._blocks.sessions.lose(client, Status.DEVICE_LOST))
        self._publisher.everything()

    def power_off(self) -> None:
        """Take the power away: every session is lost, nothing attaches until it is given again."""
        if self.halted:
            return
        self._mcu.stop(Trigger.FATAL)
        self.halted = True
        self.lose_everybody()

    def power_on(self) -> None:
        """Give power again after `power_off`: as after a reset. Else it does nothing."""
        lifecycle = self._blocks.state.lifecycle
        if lifecycle.allows(Trigger.POWER):
            lifecycle.fire(Trigger.POWER)
            self.halted = False
            self._blocks.state.reset_count += 1
            self._mcu.restart()
            self._publisher.everything()

    def end_after(self, bug: Exception, client: Client) -> None:
        """End one client's session after a bug while it was served.

        Raises:
            Exception: the bug itself, with `strict`.
        """
        if self._strict:
            raise bug
        self.last_bug = bug
        try:
            if client.lost is None:
                self.effects.append(self._blocks.sessions.lose(client, Status.INTERNAL))
                self._publisher.status(client)
            self.check()
        except Exception as worse:  # noqa: BLE001 - whatever it is, the device must not go on
            self.halt(f"{type(worse).__name__} after {type(bug).__name__}: {worse}")
        self.effects.append(Disconnect(client.client_id, Status.INTERNAL))

    def halt(self, reason: str) -> None:
        """Stop for good; every client is told that it lost the device."""
        self._mcu.stop(Trigger.FATAL)
        self.halted = True
        for client in self._blocks.state.clients.values():
            if client.lost is None:
                self.effects.append(client.lose(Status.DEVICE_LOST))
        self._publisher.everything()
        self.effects.append(Halted(reason))
