"""What calls ask of devices, answered over a program's links; whoever watches is told of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias, final

from firmware.abi.ids import WORK_COMMAND_SIZE
from hostdriver.channel.running import submit
from hostdriver.core.failures import device_lost
from hostdriver.core.questions import Answer, AwaitRoom, Control, Faults, Offer, Submit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from firmware.abi.faults import FaultRecord
    from hostdriver.channel.devices import ProgramDevice
    from hostdriver.channel.names import Names
    from hostdriver.channel.running import Running
    from hostdriver.channel.slots import Slots
    from hostdriver.channel.watch import Watch
    from hostdriver.core.results import ZeError
    from hostdriver.core.state import DriverState

WorkQuestion: TypeAlias = Control | Submit | Faults | Offer | AwaitRoom
"""What concerns a device and its rings."""


@final
class DeviceWork:
    """Answers the questions about devices.

    Owner: a program's session.
    """

    __slots__ = ("_devices", "_watch")

    def __init__(self, devices: Sequence[ProgramDevice], watch: Watch | None) -> None:
        self._devices = tuple(devices)
        self._watch = watch

    def answer(
        self, running: Running, question: WorkQuestion, go_on: Callable[[object], None]
    ) -> tuple[bool, object]:
        """Return whether a question is answered already, and how; else `go_on` gets the answer.

        Raises:
            ZeError: the device is lost, or has no such queue.
        """
        device = self._devices[question.device]
        if isinstance(question, Faults):
            return True, self._take_faults(running, question)
        self.check(question.device)
        match question:
            case Control():
                if self._watch is not None:
                    self._watch.asked(running, question.device, question.command)
                device.control(question, partial(self._take_reply, running, question, go_on))
                return False, None
            case Submit():
                self._tell_work(running, question, b"".join(question.commands))
                return submit(device, question, go_on)
            case _:
                answered, offered = device.answer(question, go_on)
                if isinstance(question, Offer) and offered is not None:
                    taken = offered.taken * WORK_COMMAND_SIZE
                    self._tell_work(running, question, bytes(question.commands[:taken]))
                return answered, offered

    def check(self, device: int) -> None:
        """Do nothing while a device serves the program.

        Raises:
            ZeError: it does not.
        """
        if reason := self._devices[device].lost():
            raise device_lost(reason)

    def finish_watch(self, slots: Slots, state: DriverState | None, names: Names) -> None:
        """Tell what the program did in all; it has not been tidied up yet."""
        if self._watch is None:
            return
        for index, device in enumerate(self._devices):
            for record in device.take_all_faults():
                self._watch.faulted(index, record)
        self._watch.finish(slots.counts(), state, names)

    def _take_faults(self, running: Running, question: Faults) -> tuple[FaultRecord, ...]:
        records = self._devices[question.device].take_faults(question.queue)
        if self._watch is not None:
            for record in records:
                self._watch.faulted(question.device, record, running)
        return records

    def _take_reply(
        self,
        running: Running,
        question: Control,
        go_on: Callable[[object], None],
        answer: Answer | ZeError,
    ) -> None:
        if self._watch is not None and isinstance(answer, Answer):
            self._watch.replied(running, question.device, answer.reply)
        go_on(answer)

    def _tell_work(self, running: Running, question: Submit | Offer, commands: bytes) -> None:
        if self._watch is not None:
            self._watch.submitted(running, question.device, question.queue, commands)
