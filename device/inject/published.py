"""What the device publishes of finished work: late, never, or not the last of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from device.core.engine.steps import Activity
from device.inject.rounds import AroundRounds, ticks
from firmware.abi.rings import COMPLETED
from firmware.abi.work import FenceWrite, WorkFlags
from firmware.inject.actions import Delay, Drop, Stale

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.engine import WorkQueue
    from device.core.engine.notices import Notices
    from device.core.engine.steps import Job
    from device.inject.commands import InjectedCommands
    from device.inject.rounds import InjectedRounds
    from firmware.abi.work import WorkCommand
    from firmware.inject import Hit

_STAMP_START = int(WorkFlags.STAMP_START)


class _Held(NamedTuple):
    """Something that was not published."""

    rule: str
    due: int | None
    """Device time at which it is; None: when its rule goes."""
    queue: WorkQueue
    fence: FenceWrite | None
    """A fence; None: how far the queue is."""


@final
class PublishedTap(AroundRounds):
    """Reaches `link.completed` when a queue publishes how far it is, and at each FENCE_WRITE.

    What is published of a queue later, by its next turn or its end, makes up for what was not.
    """

    points = frozenset({"link.completed"})

    def __init__(self, rounds: InjectedRounds, commands: InjectedCommands) -> None:
        super().__init__(rounds)
        self._commands = commands
        self._turns = rounds.inside.blocks.scheduler.runner
        self._inner: Callable[[WorkQueue, Notices], None] = self._turns.publish
        self._notices: Notices | None = None
        self._held: list[_Held] = []

    @property
    def wake_at(self) -> int | None:
        """Device time at which something is published."""
        return min((one.due for one in self._held if one.due is not None), default=None)

    def install(self) -> None:
        """Come in."""
        super().install()
        self._commands.enter(self)
        self._inner, self._turns.publish = self._turns.publish, self._publish

    def remove(self) -> None:
        """Go out; everything is published."""
        self._turns.publish = self._inner
        self._commands.leave(self)
        self._let_go(self.rounds.state.now, everything=True)
        super().remove()

    def before(self, now: int) -> None:
        """Publish what is due, whose rule is gone, or whose client asked to be looked after."""
        clients = self.rounds.state.clients
        asked = {number for number, client in clients.items() if client.rung}
        if asked:
            self._held = [
                one._replace(due=now)
                if one.due is None and one.queue.client.client_id in asked
                else one
                for one in self._held
            ]
        self._let_go(now, everything=False)

    def execute(
        self, queue: WorkQueue, command: WorkCommand, run: Callable[[WorkCommand], Job | None]
    ) -> Job | None:
        """Run a command; a fence is signalled, or not, as a rule says (see `Makes`)."""
        if isinstance(command, FenceWrite) and not int(command.flags) & _STAMP_START:
            hit = self._ask(queue)
            if hit is not None:
                self._hold(hit, queue, command)
                return None
        return run(command)

    def _publish(self, queue: WorkQueue, notices: Notices) -> None:
        self._notices = notices
        hit = self._ask(queue)
        if hit is None:
            self._inner(queue, notices)
            return
        self._hold(hit, queue, None)
        if isinstance(hit.action, Stale):
            # The host is told, and finds what was there.
            true, queue.completed = (
                queue.completed,
                queue.client.words.load64(queue.header + COMPLETED),
            )
            self._inner(queue, notices)
            queue.completed = true

    def _ask(self, queue: WorkQueue) -> Hit | None:
        client = self.rounds.state.clients[queue.client.client_id]
        ring = f"work{queue.queue_id}"
        return self.rounds.ask("link.completed", self.rounds.site(client, ring=ring))

    def _hold(self, hit: Hit, queue: WorkQueue, fence: FenceWrite | None) -> None:
        due: int | None = None
        match hit.action:
            case Delay(seconds=seconds):
                due = self.rounds.state.now + ticks(seconds)
            case Drop() | Stale():
                pass
            case _:
                return
        self._held.append(_Held(hit.rule, due, queue, fence))

    def _let_go(self, now: int, *, everything: bool) -> None:
        has = self.rounds.injector.has
        free = [
            one
            for one in self._held
            if everything or not has(one.rule) or (one.due is not None and one.due <= now)
        ]
        self._held = [one for one in self._held if one not in free]
        for one in free:
            if one.fence is not None:
                self.rounds.signal(one.queue, one.fence)
            elif one.queue.activity is not Activity.GONE and self._notices is not None:
                self._inner(one.queue, self._notices)
                self.rounds.stir()
