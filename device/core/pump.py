"""One round of work: doorbells, control commands, engines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, final

from device.core.effects import WakeAt
from device.core.firmware import refusal
from device.core.lifecycle import Trigger
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.blocks import Blocks
    from device.core.clients import Client
    from device.core.effects import Effect
    from device.core.firmware import Pending
    from device.core.memory import Chunk
    from device.core.micro_controller import MicroController
    from device.core.publisher import Publisher
    from device.core.supervisor import Supervisor

CONTROL_BUDGET: Final = 32
"""Ordinary control commands of one round, shared among the clients that have any; see `weights`."""


@final
class Pump:
    """Finds what is to be done and has it done, for everybody in turn.

    Owner: the device. It keeps nothing but whether the shell must call again (`dirty`) and whether
    clients were asked to ring (`asleep`).
    """

    __slots__ = (
        "_acknowledgements",
        "_clients",
        "_kick",
        "_marked",
        "_mcu",
        "_publisher",
        "_releases",
        "_rounds",
        "_scheduler",
        "_state",
        "_supervisor",
        "asleep",
        "dirty",
    )

    def __init__(
        self, blocks: Blocks, mcu: MicroController, publisher: Publisher, supervisor: Supervisor
    ) -> None:
        self._acknowledgements = blocks.acknowledgements
        self._clients = blocks.state.clients
        self._kick = blocks.scheduler.kick
        # Always the same set: frames with memory errors.
        self._marked = blocks.memory.local.ecc.marked
        self._mcu = mcu
        self._publisher = publisher
        self._releases = blocks.releases
        self._scheduler = blocks.scheduler
        self._state = blocks.state
        self._supervisor = supervisor
        self._rounds = 0
        self.asleep = False
        self.dirty = False
        """Something changed outside of `work`: effects or replies may wait."""

    def watch(self, looks: int) -> bool:
        """Look up to so many times for something to do; return whether there is."""
        if self.dirty or self._scheduler.has_work:
            return True
        clients = self._clients.values()
        for client in clients:
            if client.control.active and client.control.has_work(self._state.now):
                return True
        # What a device that polls waits for, and what stands between a doorbell and its command.
        for _ in range(looks):
            for client in clients:
                doorbells = client.doorbells
                if client.rung or doorbells.view.tobytes() != doorbells.seen:
                    return True
        return False

    def doorbells(self) -> list[tuple[memoryview, bytes]] | None:
        """Return the doorbell words of each client, and what stood there when they were taken.

        None: something else than a doorbell may give the device something to do.
        """
        clients = self._clients.values()
        if self.dirty or self._scheduler.has_work or self._scheduler.waits:
            return None
        if any(client.control.active or client.rung for client in clients):
            return None
        return [(client.doorbells.view, client.doorbells.seen) for client in clients]

    def work(self, now: int) -> list[Effect]:
        """Look at the doorbells, answer control commands, give each queue in line one turn."""
        if self.asleep:
            self.asleep = False
            self._publisher.asleep(asleep=False)
        busy = self._look(now)
        if self._releases.free:
            busy = [client for client in busy if client.client_id not in self._releases.free]
        if busy:
            self._serve(busy, now)
        effects: list[Effect] = []
        supervisor = self._supervisor
        if not supervisor.halted:
            try:
                effects = self._scheduler.work(now)
            except Exception as bug:  # noqa: BLE001 - a bug costs one client its session, no more
                self._end_after(bug)
            if self._acknowledgements and self._acknowledgements.poll():
                self.dirty = True
            if self._releases.free:
                self._releases.carry_out()
        if supervisor.effects:
            effects = supervisor.take_effects() + effects
        # Work commands change nothing that is published, unless they meet a memory error or
        # something waited for them.
        if busy or self.dirty or self._marked:
            self._publisher.changes()
        self.dirty = bool(self._releases.free) and not supervisor.halted
        return effects

    def chunk_done(self, chunk: Chunk) -> None:
        """Take back a chunk; what waited for it goes on in the next round."""
        self._scheduler.chunk_done(chunk)
        self._acknowledgements.poll()
        self.dirty = True

    def prepare_sleep(self) -> None:
        """Ask every client to ring."""
        self.asleep = True
        for client in self._clients.values():
            client.control.arm()
            for queue in client.queues.values():
                queue.consumer.arm()
        self._publisher.asleep(asleep=True)

    def _look(self, now: int) -> list[Client]:
        """Look at the doorbells; return the clients whose control rings may need service."""
        busy: list[Client] = []
        reset = False
        kick = self._kick
        for client in self._clients.values():
            doorbells = client.doorbells
            if client.rung:
                client.rung = False
                if doorbells.kick_all(kick):
                    client.control.look()
            elif (words := doorbells.view.tobytes()) != doorbells.seen:
                if doorbells.take(words, kick):
                    client.control.look()
            elif client.control.active:
                busy.append(client)
                continue
            else:
                continue
            client.engine.faults.take_acknowledgement()
            if client.registers.at_doorbell(now):
                # A session that was lost has no say in those that came after it.
                reset |= client.counted and client.lost is None
            if client.control.active:
                busy.append(client)
        if reset and self._state.lifecycle.allows(Trigger.RESET):
            self._supervisor.reset()
        return busy

    def _serve(self, clients: list[Client], now: int) -> None:
        """Answer control commands, each client its share.

        One client in turn may have a command answered that takes long. It comes first: the others
        are told of their replies only when the round is over.
        """
        budget = max(1, CONTROL_BUDGET // len(clients))
        effects = self._supervisor.effects
        self._rounds += 1
        first = self._rounds % len(clients)
        for number, client in enumerate(clients[first:] + clients[:first]):
            effects += client.control.serve(
                partial(self._handle, client), now, budget, may_exceed=number == 0
            )
            wake_at = client.control.wake_at if client.control.active else None
            if wake_at is not None and wake_at > now:
                effects.append(WakeAt(wake_at))

    def _handle(self, client: Client, command: bytes) -> bytes | Pending:
        """Answer one control command, whatever it is."""
        firmware = self._mcu.firmware
        if client.lost is not None or firmware is None:
            return refusal(command, Status.DEVICE_LOST)
        try:
            return firmware.handle(client, command, self._state.now)
        except Exception as bug:  # noqa: BLE001 - a bug costs one client its session, no more
            self._supervisor.end_after(bug, client)
            return refusal(command, Status.INTERNAL)

    def _end_after(self, bug: Exception) -> None:
        """End the client whose queue had its turn when an engine met a bug of ours."""
        queue = self._scheduler.current
        if queue is None:
            raise bug
        self._supervisor.end_after(bug, self._clients[queue.client.client_id])
