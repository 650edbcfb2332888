"""What a stream tells, put together: programs, whole calls, and the commands that they caused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from firmware.abi.describe import describe_control, describe_fault, describe_reply, describe_work
from firmware.abi.ids import WORK_COMMAND_SIZE
from firmware.abi.trace import TraceKind
from hostdriver.channel.account import Account
from hostdriver.channel.items import MalformedMessageError
from hostdriver.cli.records import short_of
from hostdriver.cli.trace.decoding import Noted, decode_call, decode_note, decode_outputs
from hostdriver.cli.trace.stream import StreamError, read_entries
from hostdriver.cli.trace.vocabulary import function_name, result_name

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from typing import BinaryIO

    from firmware.abi.trace import TraceHeader
    from hostdriver.cli.trace.decoding import Begun
    from hostdriver.cli.trace.stream import Entry
    from hostdriver.cli.trace.vocabulary import Shown


class Program(NamedTuple):
    """A program of the trace."""

    number: int
    pid: int
    name: str


class Began(NamedTuple):
    """A program made its first call."""

    program: Program
    nanoseconds: int
    """Since the stream began; so everywhere."""


class Ended(NamedTuple):
    """A program's session has ended."""

    program: Program
    nanoseconds: int
    account: Account


class Command(NamedTuple):
    """Something that crossed a ring."""

    what: str
    """`control`, `reply`, `work` or `fault`."""
    device: int
    queue: int
    """Of work; else 0."""
    text: str


class Call(NamedTuple):
    """A call; without a result it had not returned when the stream ended."""

    program: Program
    thread: int
    nanoseconds: int
    """When it began."""
    function: str
    arguments: dict[str, Shown]
    outputs: dict[str, Shown]
    result: str
    """Name of a `ze_result_t`; empty: none."""
    error: str
    """The error description."""
    taken: int
    """Nanoseconds that it took."""
    commands: tuple[Command, ...]
    is_local: bool
    """Whether the library answered it without the driver."""


class Beside(NamedTuple):
    """Something that crossed a ring when the call that caused it had ended already."""

    program: Program
    nanoseconds: int
    function: str
    """Of the call that caused it; empty: none is known."""
    command: Command


Happening: TypeAlias = Began | Ended | Call | Beside
_MOST_NAMES: Final = 10_000
"""Calls of which it is remembered what they were, for what they cause later."""
_DESCRIBE: Final = {
    TraceKind.CONTROL: ("control", describe_control),
    TraceKind.REPLY: ("reply", describe_reply),
    TraceKind.FAULT: ("fault", describe_fault),
}


class _Open:
    """A call that has not returned."""

    __slots__ = ("begun", "commands", "entry")

    def __init__(self, entry: Entry, begun: Begun) -> None:
        self.entry = entry
        self.begun = begun
        self.commands: list[Command] = []


def happenings(stream: BinaryIO, header: TraceHeader) -> Generator[Happening]:
    """Yield what happened, each call when it returned; those that never did come last.

    Raises:
        StreamError: the stream is damaged or breaks off; what stands before was yielded.
    """
    return _Teller(header).tell(stream)


class _Teller:
    """Puts records together.

    Owner: one reading of a stream.
    """

    def __init__(self, header: TraceHeader) -> None:
        self._start = header.began
        self._programs: dict[int, Program] = {}
        self._open: dict[tuple[int, int], _Open] = {}
        self._names: dict[tuple[int, int], str] = {}

    def tell(self, stream: BinaryIO) -> Generator[Happening]:
        """Yield everything, also what is left of a stream that breaks off."""
        broken: StreamError | None = None
        try:
            for entry in read_entries(stream):
                yield from self._understand(entry)
        except StreamError as error:
            broken = error
        for call in self._open.values():
            yield self._call(call, "", {}, "", 0)
        if broken is not None:
            raise broken

    def _understand(self, entry: Entry) -> Iterator[Happening]:
        try:
            yield from self._take(entry)
        except (MalformedMessageError, msgspec.MsgspecError) as error:
            kind = TraceKind(entry.record.kind).name
            raise StreamError(
                f"the {kind} at byte {entry.offset:#x} is damaged: {error}"
            ) from error

    def _take(self, entry: Entry) -> Iterator[Happening]:
        record = entry.record
        kind = TraceKind(record.kind)
        if kind is TraceKind.PROGRAM:
            name = entry.payload.decode(errors="replace")
            self._programs[record.program] = Program(record.program, record.what, name)
            yield Began(self._programs[record.program], self._time(entry))
            return
        if record.program not in self._programs:
            raise MalformedMessageError(f"program {record.program} did not begin")
        take: dict[TraceKind, Callable[[Entry], Iterator[Happening]]] = {
            TraceKind.CALL: self._begin,
            TraceKind.RETURN: self._return,
            TraceKind.LOCAL: self._local,
            TraceKind.END: self._end,
        }
        yield from take.get(kind, self._command)(entry)

    def _begin(self, entry: Entry) -> Iterator[Happening]:
        key = entry.record.program, entry.record.call
        begun = decode_call(entry.record.what, entry.payload)
        self._open[key] = _Open(entry, begun)
        self._names[key] = begun.function
        if len(self._names) > _MOST_NAMES:
            del self._names[next(iter(self._names))]
        return iter(())

    def _return(self, entry: Entry) -> Iterator[Happening]:
        call = self._open.pop((entry.record.program, entry.record.call), None)
        if call is None:
            raise MalformedMessageError(f"call {entry.record.call} did not begin")
        size = len(entry.payload) - entry.record.more
        if size < 0:
            raise MalformedMessageError(f"a text of {entry.record.more:#x} bytes")
        outputs = decode_outputs(call.begun.message, entry.payload[:size])
        text = entry.payload[size:].decode(errors="replace")
        taken = entry.record.time - call.entry.record.time
        yield self._call(call, result_name(entry.record.what), outputs, text, taken)

    def _local(self, entry: Entry) -> Iterator[Happening]:
        note = _note(entry)
        yield Call(
            program=self._programs[entry.record.program],
            thread=entry.record.thread,
            nanoseconds=self._time(entry),
            function=note.function,
            arguments=note.arguments,
            outputs={},
            result=note.result,
            error=note.error,
            taken=note.nanoseconds,
            commands=(),
            is_local=True,
        )

    def _end(self, entry: Entry) -> Iterator[Happening]:
        account = msgspec.json.decode(entry.payload, type=Account)
        program = self._programs[entry.record.program]
        for key in [key for key in self._open if key[0] == program.number]:
            yield self._call(self._open.pop(key), "", {}, "", 0)
        self._names = {key: name for key, name in self._names.items() if key[0] != program.number}
        yield Ended(program, self._time(entry), account)

    def _command(self, entry: Entry) -> Iterator[Happening]:
        key = entry.record.program, entry.record.call
        call = self._open.get(key)
        for command in _commands(entry):
            if call is not None:
                call.commands.append(command)
            else:
                program = self._programs[entry.record.program]
                name = self._names.get(key, "")
                yield Beside(program, self._time(entry), name, command)

    def _call(
        self, call: _Open, result: str, outputs: dict[str, Shown], error: str, taken: int
    ) -> Call:
        entry = call.entry
        return Call(
            program=self._programs[entry.record.program],
            thread=entry.record.thread,
            nanoseconds=self._time(entry),
            function=call.begun.function,
            arguments=call.begun.arguments,
            outputs=outputs,
            result=result,
            error=error,
            taken=taken,
            commands=tuple(call.commands),
            is_local=False,
        )

    def _time(self, entry: Entry) -> int:
        return entry.record.time - self._start


def _note(entry: Entry) -> Noted:
    """Return what a note tells; one that is none costs its program's trace that call alone."""
    try:
        return decode_note(entry.payload)
    except MalformedMessageError as error:
        name = function_name(entry.record.what)
        return Noted(name, {}, "unknown", 0, f"the program's note is damaged: {error}")


def _commands(entry: Entry) -> list[Command]:
    device = entry.record.what
    kind = TraceKind(entry.record.kind)
    if kind in _DESCRIBE:
        what, describe = _DESCRIBE[kind]
        return [Command(what, device, 0, short_of(describe(entry.payload)))]
    size = WORK_COMMAND_SIZE
    return [
        Command(
            "work",
            device,
            entry.record.more,
            short_of(describe_work(entry.payload[at : at + size])),
        )
        for at in range(0, len(entry.payload), size)
    ]
