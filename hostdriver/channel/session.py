"""One program's session: its calls, each a driver coroutine, carried on without ever waiting."""

from __future__ import annotations

import contextlib
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, final

from firmware.abi.channel import CHANNEL_BEGIN, CHANNEL_THREAD, MessageKind
from hostdriver.channel.arguments import Arguments, read_arguments
from hostdriver.channel.asides import take_aside
from hostdriver.channel.beginning import begin_program
from hostdriver.channel.calls.table import carry_out
from hostdriver.channel.devicework import DeviceWork, WorkQuestion
from hostdriver.channel.elsewhere import answer_outside
from hostdriver.channel.items import ITEM, MalformedMessageError
from hostdriver.channel.names import Names
from hostdriver.channel.questions import LongQuestion, RemoteQuestion, ask, send_descriptor
from hostdriver.channel.recorded import Recorded
from hostdriver.channel.running import Ended, Running, abandon, beside, nonsense, outcome_of, step
from hostdriver.channel.seen import devices_of
from hostdriver.channel.specs import interface
from hostdriver.channel.streamrows import StreamRows
from hostdriver.channel.threads import Threads
from hostdriver.channel.waits import Waits, answer_of, found_already
from hostdriver.core.failures import unsupported_feature
from hostdriver.core.questions import (
    Beside,
    Clock,
    CloseDescriptor,
    Duplicate,
    FindMissing,
    OnThread,
    Pause,
    WaitSlot,
    WaitWord,
)
from hostdriver.core.results import ZeError
from hostdriver.runtime.process import close_descriptors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.link.carrier import Carrier
    from hostdriver.channel.devices import ProgramDevice
    from hostdriver.channel.places import Places
    from hostdriver.channel.slots import Incoming, Slots
    from hostdriver.channel.watch import Watch
    from hostdriver.core.questions import AnyQuestion
    from hostdriver.core.state import DriverState


@final
class Session:
    """The driver of one C program.

    Owner: the host of all programs; one thread. Invariants: a slot holds at most one call, which is
    in `_running` from its first step to its reply, but in `_waits` while its thread waits; state
    and names belong to this program alone.
    """

    __slots__ = (
        "_besides",
        "_carrier",
        "_devices",
        "_paused",
        "_pid",
        "_places",
        "_recorded",
        "_running",
        "_slots",
        "_socket",
        "_threads",
        "_waits",
        "_watch",
        "_work",
        "names",
        "state",
    )

    def __init__(
        self,
        slots: Slots,
        places: Places,
        carrier: Carrier,
        devices: Sequence[ProgramDevice],
        pid: int,
        socket: str = "",
        watch: Watch | None = None,
    ) -> None:
        """Serve the program `pid`; `watch` is told of all that it does."""
        self._slots = slots
        self._recorded = Recorded(slots)
        self._places = places
        self._carrier = carrier
        self._devices = tuple(devices)
        self._pid = pid
        self._socket = socket
        self._watch = watch
        self._work = DeviceWork(devices, watch)
        self._running: dict[int, Running] = {}
        self._paused: list[Running] = []
        self._besides = count(-1, -1)
        self._waits = Waits()
        self._threads = Threads()
        self.state: DriverState | None = None
        """What the driver knows of the program, once it has begun."""
        self.names = Names(StreamRows(slots.words))
        """Handles that the program has."""

    @property
    def is_busy(self) -> bool:
        """Whether something may be ready without a word of the program."""
        waits = self._paused or self._recorded.is_behind
        return bool(waits) or any(device.is_busy for device in self._devices)

    def has_work(self) -> bool:
        """Return whether `poll` would find something."""
        return self._slots.has_work() or self.is_busy

    def poll(self) -> bool:
        """Carry on whatever can go on; return whether anything did."""
        arrived = self._recorded.take(self.state, self.names)
        worked = bool(arrived) or self._recorded.is_behind
        for message in arrived:
            self._receive(message)
        for device in self._devices:
            for answered in device.poll():
                worked = True
                answered()
        if worked or self._paused:
            paused, self._paused = self._paused, []
            for running in paused:
                self._drive(running, None)
        return worked

    def set_asleep(self, *, asleep: bool) -> None:
        """Say whether the program has to ring after it posted."""
        self._slots.set_asleep(asleep=asleep)

    def close(self) -> None:
        """End the session: the devices take everything back, the program's waits end."""
        with contextlib.ExitStack() as closing:
            closing.callback(self._slots.close)
            closing.callback(self._carrier.close)
            for device in self._devices:
                closing.callback(device.close)
            self._slots.lose()
            closing.callback(self._work.finish_watch, self._slots, self.state, self.names)
            if self.state is not None:
                closing.callback(close_descriptors, self.state)
            for running in (*self._running.values(), *self._waits, *self._threads):
                closing.callback(abandon, running.operation)

    def _receive(self, message: Incoming) -> None:
        """Take a message.

        Raises:
            MalformedMessageError: a call is on its way there; the session has to end.
        """
        running = self._running.get(message.slot)
        if running is None and message.kind == MessageKind.ANSWER:
            running = self._resume(message)
        if running is not None:
            question, running.asked = running.asked, None
            if message.kind != MessageKind.ANSWER or question is None:
                raise MalformedMessageError(f"message {message.kind} in the middle of a call")
            self._answer_from_program(running, question, message.data)
            return
        try:
            self._begin_call(message)
        except MalformedMessageError as error:
            self._end(message.slot, nonsense(error))

    def _resume(self, message: Incoming) -> Running | None:
        """Take up a call that waited in the slot in which its answer came; None: there is none."""
        running = self._waits.take(message.what)
        if running is not None:
            running.slot = message.slot
            self._running[message.slot] = running
        return running

    def _answer_from_program(self, running: Running, question: RemoteQuestion, data: bytes) -> None:
        answer = answer_of(self._devices, question, data)
        self._threads.answered(question, answer)
        self._drive(running, answer)

    def _begin_call(self, message: Incoming) -> None:
        if message.kind != MessageKind.CALL:
            raise MalformedMessageError(f"message {message.kind} in slot {message.slot}")
        arguments: Arguments | None = None
        if message.what == CHANNEL_THREAD:
            running = self._running[message.slot] = self._threads.take(message)
            self._drive(running, None)
            return
        if message.what == CHANNEL_BEGIN:
            if self._running or self.state is not None:
                raise MalformedMessageError("its first call comes behind others")
            operation, name = self._begin(message.data), "begin"
        elif take_aside(message, self._slots, self._watch, self._devices):
            self._end(message.slot, None)
            return
        else:
            spec = interface().functions.get(message.what)
            if spec is None:
                self._end(message.slot, unsupported_feature(f"function {message.what} is unknown"))
                return
            arguments = read_arguments(spec, message.data)
            operation, name = self._call(arguments), spec.name
        running = self._running[message.slot] = Running(message.slot, name, operation)
        if self._watch is not None and arguments is not None:
            self._watch.began(running, arguments, self._slots, message)
        self._drive(running, None)

    async def _begin(self, data: bytes) -> bytes:
        """Make the program's state; return how many devices it sees."""
        devices = tuple(device.facts for device in self._devices)
        self.state = await begin_program(self._pid, devices, data, self._socket)
        self.names.begin(devices_of(self.state))
        self._places.begin(self.state)
        return len(self.names.devices).to_bytes(ITEM, "little")

    async def _call(self, arguments: Arguments) -> bytes:
        self._recorded.check(arguments)
        return await carry_out(self.state, self.names, self._places, arguments)

    def _drive(self, running: Running, answer: object) -> None:
        """Carry a call on until it waits for something, or ends."""
        if self._running.get(running.slot) is not running:
            return
        while True:
            question = step(running, answer)
            if isinstance(question, Ended):
                self._end(running.slot, question.error, question.data)
                return
            try:
                answered, answer = self._answer(running, question)
            except (ZeError, OSError) as error:
                answered, answer = True, error
            if not answered:
                return

    def _answer(self, running: Running, question: AnyQuestion) -> tuple[bool, object]:
        """Return whether a question is answered already, and how; else the answer comes later."""
        if isinstance(question, WorkQuestion):
            return self._work.answer(running, question, partial(self._drive, running))
        match question:
            case Clock() | CloseDescriptor() | Duplicate() | FindMissing():
                return True, answer_outside(self._pid, question)
            case Pause():
                self._paused.append(running)
            case Beside():
                begun = beside(next(self._besides), question, running)
                self._running[begun.slot] = begun
                self._paused.append(begun)
                return True, None
            case OnThread():
                self._ask(running, self._threads.want(question))
            case WaitWord() | WaitSlot():
                if (found := found_already(self._devices, question)) is not None:
                    return True, found
                self._ask(running, question)
            case _:
                self._ask(running, question)
        return False, None

    def _ask(self, running: Running, question: object) -> None:
        if not isinstance(question, RemoteQuestion):
            raise unsupported_feature(f"a program elsewhere cannot answer {question}")
        message = ask(question)
        if message.descriptor >= 0:
            send_descriptor(self._carrier, running.slot, message.descriptor)
        data = message.data
        if isinstance(question, LongQuestion):
            data += self._waits.put(running).to_bytes(ITEM, "little")
            del self._running[running.slot]
        running.asked = question
        self._slots.put(running.slot, MessageKind.QUESTION, message.kind, data)

    def _end(self, slot: int, error: ZeError | None, data: bytes = b"") -> None:
        """Reply to a call; nobody asked for an operation that was carried out beside."""
        running = self._running.pop(slot, None)
        if slot < 0:
            if self.state is not None:
                self._places.follow(self.state, self.names, None)
            return
        name = "" if running is None else running.name
        result, text = outcome_of(self.state, error, f"process {self._pid}: {name}")
        encoded = text.encode()
        if self._watch is not None and running is not None:
            self._watch.ended(running, result, data, encoded)
        self._slots.put(slot, MessageKind.REPLY, 0, data, int(result), encoded)
