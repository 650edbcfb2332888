"""Words and pools that a program waits for: what can be said of them without asking it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from firmware.abi.status import Status
from hostdriver.channel.items import MalformedMessageError
from hostdriver.channel.questions import understand
from hostdriver.channel.running import nonsense
from hostdriver.core.failures import out_of_host_memory
from hostdriver.core.questions import JoinSlots, LeaveSlots, Waited, WaitSlot
from hostdriver.core.results import ZeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hostdriver.channel.devices import ProgramDevice
    from hostdriver.channel.questions import RemoteQuestion
    from hostdriver.channel.running import Running
    from hostdriver.core.questions import WaitWord

_MOST: Final = 1 << 16
"""Waits of one program at once: more threads than most systems give it."""
_NUMBERS: Final = 1 << 32


@final
class Waits:
    """Calls that are in no slot, because their threads wait.

    Owner: a program's session. Invariant: a number names one wait, and is not 0.
    """

    __slots__ = ("_last", "_running")

    def __init__(self) -> None:
        self._running: dict[int, Running] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._running)

    def __iter__(self) -> Iterator[Running]:
        return iter(self._running.values())

    def end_lost(self, devices: Sequence[ProgramDevice]) -> None:
        """End the waits for slots on devices that are lost: nobody else tells the threads.

        The slot gets the status, as if the queue that was to signal it had ended with its device.
        """
        lost: dict[int, bool] = {}
        for running in self._running.values():
            asked = running.asked
            if not isinstance(asked, WaitSlot):
                continue
            if asked.device not in lost:
                lost[asked.device] = bool(devices[asked.device].lost())
            if lost[asked.device] and not asked.memory.load(asked.slot).status:
                asked.memory.fail(asked.slot, Status.DEVICE_LOST)

    def put(self, running: Running) -> int:
        """Keep a call until its answer comes; return the number of the wait.

        Raises:
            ZeError: too many wait.
        """
        if len(self._running) >= _MOST:
            raise out_of_host_memory(f"{_MOST:,} calls wait already")
        self._last += 1
        while self._last % _NUMBERS == 0 or self._last % _NUMBERS in self._running:
            self._last += 1
        number = self._last % _NUMBERS
        self._running[number] = running
        return number

    def take(self, number: int) -> Running | None:
        """Return the call of a wait, which is over; None: there is no such wait."""
        return self._running.pop(number, None)


def found_already(devices: Sequence[ProgramDevice], question: WaitWord | WaitSlot) -> Waited | None:
    """Return what a wait would find if it ended at once; None while there is something to wait for.

    Raises:
        ZeError: the device is lost.
    """
    if isinstance(question, WaitSlot):
        state = question.memory.load(question.slot)
        found = Waited(state.value, state.status)
    else:
        found = devices[question.device].look(question.word)
    is_over = found.value >= question.value or found.status or question.timeout_seconds == 0
    return found if is_over else None


def answer_of(devices: Sequence[ProgramDevice], question: RemoteQuestion, data: bytes) -> object:
    """Return what a program has answered, with the emulator's half of it done; or what failed."""
    try:
        return complete(devices, question, understand(question, data))
    except ZeError as error:
        return error
    except MalformedMessageError as error:
        return nonsense(error)


def complete(devices: Sequence[ProgramDevice], question: RemoteQuestion, answer: object) -> object:
    """Do the emulator's half of what a program has answered; return the whole answer."""
    if isinstance(question, JoinSlots) and isinstance(answer, int):
        return devices[question.device].join(question, answer)
    if isinstance(question, LeaveSlots):
        devices[question.device].leave(question.memory)
    return answer
