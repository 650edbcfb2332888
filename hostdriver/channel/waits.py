"""Words and pools that a program waits for: what can be said of them without asking it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.core.questions import JoinSlots, LeaveSlots, Waited, WaitSlot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.channel.devices import ProgramDevice
    from hostdriver.channel.questions import RemoteQuestion
    from hostdriver.core.questions import WaitWord


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


def complete(devices: Sequence[ProgramDevice], question: RemoteQuestion, answer: object) -> object:
    """Do the emulator's half of what a program has answered; return the whole answer."""
    if isinstance(question, JoinSlots) and isinstance(answer, int):
        return devices[question.device].join(question, answer)
    if isinstance(question, LeaveSlots):
        devices[question.device].leave(question.memory)
    return answer
