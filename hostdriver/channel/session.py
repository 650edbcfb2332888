"""One program's session: its calls, each a driver coroutine, carried on without ever waiting."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, final

from firmware.abi.channel import CHANNEL_BEGIN, CHANNEL_THREAD, MessageKind
from hostdriver.channel.arguments import Arguments, read_arguments, spec_of
from hostdriver.channel.asides import take_aside
from hostdriver.channel.asking import ASKED, answer_asked
from hostdriver.channel.beginning import begin_program
from hostdriver.channel.calls.table import carry_out
from hostdriver.channel.devicework import DeviceWork, WorkQuestion
from hostdriver.channel.elsewhere import answer_outside
from hostdriver.channel.items import ITEM, MalformedMessageError
from hostdriver.channel.names import Names
from hostdriver.channel.ports import Caller, Later
from hostdriver.channel.questions import LongQuestion, RemoteQuestion, ask, send_descriptor
from hostdriver.channel.recorded import Recorded
from hostdriver.channel.running import Ended, nonsense, outcome_of, step
from hostdriver.channel.seen import devices_of
from hostdriver.channel.streamrows import StreamRows
from hostdriver.channel.threads import Threads
from hostdriver.channel.underway import UnderWay
from hostdriver.channel.waits import answer_of, found_already
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
    from collections.abc import Callable, Sequence

    from firmware.link.carrier import Carrier
    from hostdriver.channel.devices import ProgramDevice
    from hostdriver.channel.places import Places
    from hostdriver.channel.ports import Ports
    from hostdriver.channel.running import Running
    from hostdriver.channel.slots import Incoming, Slots
    from hostdriver.channel.watch import Watch
    from hostdriver.core.questions import AnyQuestion
    from hostdriver.core.state import DriverState


@final
class Session:
    """The driver of one C program.

    Owner: the host of all programs; one thread. Invariant: state and names belong to this program
    alone.
    """

    __slots__ = (
        "_carrier",
        "_devices",
        "_places",
        "_ports",
        "_recorded",
        "_slots",
        "_socket",
        "_threads",
        "_watch",
        "_work",
        "caller",
        "names",
        "state",
        "under_way",
    )

    def __init__(  # noqa: PLR0913 - one for each part
        self,
        slots: Slots,
        places: Places,
        carrier: Carrier,
        devices: Sequence[ProgramDevice],
        caller: Caller,
        ports: Ports,
        *,
        socket: str = "",
        watch: Watch | None = None,
    ) -> None:
        """Serve a program; `watch` is told of all that it does."""
        self._slots = slots
        self._recorded = Recorded(slots)
        self._places = places
        self._carrier = carrier
        self._devices = tuple(devices)
        self._ports = ports
        self._socket = socket
        self._watch = watch
        self._work = DeviceWork(devices, watch)
        self.under_way = UnderWay()
        self._threads = Threads()
        self.caller = caller
        """The program, without thread and call."""
        self.state: DriverState | None = None
        """What the driver knows of the program, once it has begun."""
        self.names = Names(StreamRows(slots.words))
        """Handles that the program has."""

    @property
    def is_busy(self) -> bool:
        """Whether something may be ready without a word of the program."""
        waits = self.under_way.is_paused or self._recorded.is_behind
        return waits or any(device.is_busy for device in self._devices)

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
        self.under_way.end_lost(self._devices)
        for running in self.under_way.take_paused() if worked or self.under_way.is_paused else ():
            self.drive(running, None)
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
            self.under_way.abandon(closing, self._threads)

    def watch_as_wanted(self) -> None:
        """Have the program do what is wanted at the ports now."""
        self._slots.watch(self._ports.watching)

    def _receive(self, message: Incoming) -> None:
        """Take a message.

        Raises:
            MalformedMessageError: a call is on its way there; the session has to end.
        """
        running = self.under_way.find(message.slot)
        if running is None and message.kind == MessageKind.ANSWER:
            running = self.under_way.resume(message.what, message.slot)
        if running is not None:
            question, running.asked = running.asked, None
            if message.kind != MessageKind.ANSWER or question is None:
                raise MalformedMessageError(f"message {message.kind} in the middle of a call")
            self.drive(running, self.answer_in(question, message.data))
            return
        try:
            self._begin_call(message)
        except (MalformedMessageError, ZeError) as error:
            self._end(message.slot, error if isinstance(error, ZeError) else nonsense(error))

    def _begin_call(self, message: Incoming) -> None:
        if message.kind != MessageKind.CALL:
            raise MalformedMessageError(f"message {message.kind} in slot {message.slot}")
        arguments: Arguments | None = None
        if message.what == CHANNEL_THREAD:
            running = self.under_way.adopt(self._threads.take(message))
            self.drive(running, None)
            return
        thread = self._slots.mark(message.slot).thread if self._slots.are_marked else 0
        if message.what == CHANNEL_BEGIN:
            if len(self.under_way) or self.state is not None:
                raise MalformedMessageError("its first call comes behind others")
            operation, name = self._begin(message.data), "begin"
        elif take_aside(message, self._slots, self._watch, self._devices):
            self._end(message.slot, None)
            return
        elif message.what in ASKED:
            caller = self.caller._replace(thread=thread)
            operation, name = answer_asked(self._ports.gate, caller, message), ""
        else:
            arguments = read_arguments(spec_of(message.what), message.data)
            operation, name = self._call(arguments, thread), arguments.spec.name
        running = self.under_way.begin(message.slot, name, operation, thread)
        if self._watch is not None and arguments is not None:
            self._watch.began(running, arguments, self._slots, message)
        self.drive(running, None)

    async def _begin(self, data: bytes) -> bytes:
        """Make the program's state; return how many devices it sees."""
        devices = tuple(device.facts for device in self._devices)
        self.state = await begin_program(self.caller.pid, devices, data, self._socket)
        self.names.begin(devices_of(self.state))
        self._places.begin(self.state)
        return len(self.names.devices).to_bytes(ITEM, "little")

    async def _call(self, arguments: Arguments, thread: int) -> bytes:
        self._recorded.check(arguments)
        caller = Caller(*self.caller[:2], thread, arguments.spec.name)
        handler = partial(self._ports.carry_out, caller)
        return await carry_out(self.state, self.names, self._places, arguments, handler)

    def drive(self, running: Running, answer: object) -> None:
        """Carry a call on with an answer until it waits for something, or ends."""
        if running not in self.under_way:
            return
        while True:
            question = step(running, answer)
            if isinstance(question, Ended):
                self._end(running.slot, question.error, question.data)
                return
            try:
                answered, answer = self._ports.answering(self, running, question)
            except (ZeError, OSError) as error:
                answered, answer = True, error
            if not answered:
                return

    def answer(
        self,
        running: Running,
        question: AnyQuestion | Later,
        go_on: Callable[[object], None] | None = None,
    ) -> tuple[bool, object]:
        """Return whether a question is answered already, and how; else the answer comes later.

        Answers of devices that come later go to `go_on`, by default to the call.
        """
        if isinstance(question, WorkQuestion):
            return self._work.answer(running, question, go_on or partial(self.drive, running))
        match question:
            case Clock() | CloseDescriptor() | Duplicate() | FindMissing():
                return True, answer_outside(self.caller.pid, question)
            case Later():
                question.begin(partial(self.drive, running))
            case Pause():
                self.under_way.pause(running)
            case Beside():
                self.under_way.begin_beside(question, running)
                return True, None
            case OnThread():
                return self._ask(running, self._threads.want(question))
            case WaitWord() | WaitSlot():
                if (found := found_already(self._devices, question)) is not None:
                    return True, found
                return self._ask(running, question)
            case _:
                return self._ask(running, question)
        return False, None

    def answer_in(self, question: RemoteQuestion, data: bytes) -> object:
        """Return the answer, or the error, in a message of the program's library."""
        answer = answer_of(self._devices, question, data)
        self._threads.answered(question, answer)
        return answer

    def _ask(self, running: Running, question: object) -> tuple[bool, object]:
        if not isinstance(question, RemoteQuestion):
            raise unsupported_feature(f"a program elsewhere cannot answer {question}")
        message = ask(question)
        problem = send_descriptor(self._carrier, running.slot, message.descriptor)
        if problem is not None:
            return True, problem
        data = message.data
        if isinstance(question, LongQuestion):
            data += self.under_way.wait(running).to_bytes(ITEM, "little")
        running.asked = question
        self._slots.put(running.slot, MessageKind.QUESTION, message.kind, data)
        return False, None

    def _end(self, slot: int, error: ZeError | None, data: bytes = b"") -> None:
        """Reply to a call; nobody asked for an operation that was carried out beside."""
        running = self.under_way.end(slot)
        if slot < 0:
            if self.state is not None:
                self._places.follow(self.state, self.names, None)
            return
        name = "" if running is None else running.name
        result, text = outcome_of(self.state, error, f"process {self.caller.pid}: {name}")
        encoded = text.encode()
        if self._watch is not None and running is not None:
            self._watch.ended(running, result, data, encoded)
        self._slots.put(slot, MessageKind.REPLY, 0, data, int(result), encoded)
