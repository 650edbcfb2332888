"""What is told of one program: its calls, the commands that they caused, and its account."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import msgspec

from firmware.abi.channel import CHANNEL_COUNTS
from firmware.abi.trace import TraceKind
from hostdriver.channel.account import Tally, close_account
from hostdriver.channel.items import MalformedMessageError, Reader
from hostdriver.core.results import ZeResult

if TYPE_CHECKING:
    from firmware.abi.channel import CallCounts
    from firmware.abi.control import ControlCommand
    from firmware.abi.faults import FaultRecord
    from firmware.abi.replies import Reply
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.channel.recorder import Recorder
    from hostdriver.channel.running import Running
    from hostdriver.channel.slots import Incoming, Mark, Slots
    from hostdriver.core.state import DriverState


@final
class Watch:
    """Tells a recorder of one program.

    Owner: the program's session. Without tracing it only counts, for the account at the end.
    """

    __slots__ = ("_calls", "_name", "_number", "_pid", "_recorder", "_tally")

    def __init__(self, recorder: Recorder, pid: int, name: str) -> None:
        """Tell that a program began."""
        self._recorder = recorder
        self._pid = pid
        self._name = name
        self._number = recorder.next_program()
        self._calls = 0
        self._tally = Tally()
        recorder.put(TraceKind.PROGRAM, self._number, name.encode(), what=pid)

    @property
    def is_tracing(self) -> bool:
        """Whether every call is told."""
        return self._recorder.is_tracing

    def began(
        self, running: Running, arguments: Arguments, slots: Slots, message: Incoming
    ) -> None:
        """Tell that a call began."""
        running.arguments = arguments
        if not self.is_tracing:
            return
        self._calls += 1
        mark = slots.mark(message.slot)
        running.call, running.thread = self._calls, mark.thread
        self._put(TraceKind.CALL, running, message.data, what=message.what, time=mark.began)

    def ended(self, running: Running, result: ZeResult, data: bytes, text: bytes) -> None:
        """Tell how a call ended, and count what it gave."""
        if running.arguments is not None and result is ZeResult.ZE_RESULT_SUCCESS:
            self._tally.note_success(running.arguments)
        if running.call:
            self._put(TraceKind.RETURN, running, data + text, what=int(result), more=len(text))

    def noted(self, mark: Mark, function: int, data: bytes) -> None:
        """Tell of a call that the library answered."""
        self._calls += 1
        self._recorder.put(
            TraceKind.LOCAL,
            self._number,
            data,
            thread=mark.thread,
            call=self._calls,
            time=mark.began,
            what=function,
        )

    def asked(self, running: Running, device: int, command: ControlCommand) -> None:
        """Tell of a command for a device's firmware."""
        if self.is_tracing:
            self._put(TraceKind.CONTROL, running, command.pack(), what=device)

    def replied(self, running: Running, device: int, reply: Reply) -> None:
        """Tell of the reply to one."""
        if self.is_tracing:
            self._put(TraceKind.REPLY, running, reply.pack(), what=device)

    def submitted(self, running: Running, device: int, queue: int, commands: bytes) -> None:
        """Tell of commands that stand in a ring now."""
        self._tally.note_commands(commands)
        if self.is_tracing and commands:
            self._put(TraceKind.WORK, running, commands, what=device, more=queue)

    def faulted(self, device: int, record: FaultRecord, running: Running | None = None) -> None:
        """Tell of a fault."""
        self._tally.note_fault(device, record)
        if self.is_tracing:
            self._put(TraceKind.FAULT, running, record.pack(), what=device)

    def finish(
        self, counts: dict[int, CallCounts], state: DriverState | None, names: Names
    ) -> None:
        """Tell that the program has ended, with its account."""
        account = close_account(self._pid, self._name, self._tally, counts, state, names)
        self._recorder.put(TraceKind.END, self._number, msgspec.json.encode(account))
        self._recorder.flush()

    def _put(
        self,
        kind: TraceKind,
        running: Running | None,
        payload: bytes,
        *,
        what: int,
        more: int = 0,
        time: int | None = None,
    ) -> None:
        thread, call = (0, 0) if running is None else (running.thread, running.call)
        self._recorder.put(
            kind,
            self._number,
            payload,
            thread=thread,
            call=call,
            time=time,
            what=what,
            more=more,
        )


def take_note(watch: Watch | None, slots: Slots, message: Incoming) -> None:
    """Tell of a call that the library answered by itself.

    Raises:
        MalformedMessageError: nobody asked for that, or it tells of no function.
    """
    if watch is None or not watch.is_tracing:
        raise MalformedMessageError("a note, which nobody asked for")
    function = Reader(message.data).number()
    if function >= CHANNEL_COUNTS:
        raise MalformedMessageError(f"a note of function {function:#x}")
    watch.noted(slots.mark(message.slot), function, message.data)
