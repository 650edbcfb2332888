"""The calls of one program that have not ended, and what is carried out beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from hostdriver.channel.running import Running, abandon, beside
from hostdriver.channel.waits import Waits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import ExitStack

    from hostdriver.channel.devices import ProgramDevice
    from hostdriver.core.questions import Beside, Operation


@final
class UnderWay:
    """What has begun and not ended.

    Owner: a program's session. Invariants: a slot holds at most one call, from its first step to
    its reply, but none while its thread waits; what is carried out beside has numbers below zero.
    """

    __slots__ = ("_last_beside", "_paused", "_running", "_waits")

    def __init__(self) -> None:
        self._running: dict[int, Running] = {}
        self._paused: list[Running] = []
        self._last_beside = 0
        self._waits = Waits()

    def __len__(self) -> int:
        return len(self._running)

    def __contains__(self, running: Running) -> bool:
        return self._running.get(running.slot) is running

    @property
    def has_waits(self) -> bool:
        """Whether a thread of the program waits for something."""
        return bool(self._waits)

    @property
    def is_paused(self) -> bool:
        """Whether something goes on by itself in the next turn."""
        return bool(self._paused)

    def begin(self, slot: int, name: str, operation: Operation[bytes], thread: int) -> Running:
        """Keep a call that begins in a slot."""
        running = self._running[slot] = Running(slot, name, operation, thread=thread)
        return running

    def adopt(self, running: Running) -> Running:
        """Keep what begins in the slot that it says."""
        self._running[running.slot] = running
        return running

    def begin_beside(self, question: Beside, of: Running) -> None:
        """Keep an operation that a call began, and let it begin in the next turn."""
        self._last_beside -= 1
        begun = self._running[self._last_beside] = beside(self._last_beside, question, of)
        self._paused.append(begun)

    def find(self, slot: int) -> Running | None:
        """Return the call in a slot."""
        return self._running.get(slot)

    def pause(self, running: Running) -> None:
        """Let something go on in the next turn."""
        self._paused.append(running)

    def take_paused(self) -> list[Running]:
        """Return what is to go on now."""
        paused, self._paused = self._paused, []
        return paused

    def wait(self, running: Running) -> int:
        """Take a call out of its slot while its thread waits; return the number of the wait.

        Raises:
            ZeError: too many wait.
        """
        number = self._waits.put(running)
        del self._running[running.slot]
        return number

    def resume(self, number: int, slot: int) -> Running | None:
        """Take up a call that waited, in the slot in which its answer came; None: there is none."""
        running = self._waits.take(number)
        if running is not None:
            running.slot = slot
            self._running[slot] = running
        return running

    def end_lost(self, devices: Sequence[ProgramDevice]) -> None:
        """End the waits for devices that are lost, if any thread waits (see `Waits.end_lost`)."""
        if self._waits:
            self._waits.end_lost(devices)

    def end(self, slot: int) -> Running | None:
        """Forget what has ended."""
        return self._running.pop(slot, None)

    def abandon(self, closing: ExitStack, others: Iterable[Running]) -> None:
        """Forget everything, and have it and `others` abandoned when `closing` closes."""
        for running in (*self._running.values(), *self._waits, *others):
            closing.callback(abandon, running.operation)
        self._running.clear()
        self._paused.clear()
