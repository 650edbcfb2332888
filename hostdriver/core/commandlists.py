"""Command lists: what was recorded, encoded once, and where it was executed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from firmware.abi.ids import WORK_COMMAND_SIZE
from hostdriver.core.commandqueues import hand_over
from hostdriver.core.commandqueues_waits import is_done
from hostdriver.core.failures import invalid_argument
from hostdriver.core.hostcalls import prepare_calls
from hostdriver.core.results import ZeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hostdriver.core.commandlists_sync import SyncPoint
    from hostdriver.core.commandqueues_stream import Stream
    from hostdriver.core.state import DriverState
    from hostdriver.core.streamquestions import HostFunction


@final
@dataclass(slots=True, eq=False)
class CommandList:
    """A regular command list.

    Owner: the driver state of the process that made it. While it is open, `parts` holds what was
    appended; closing it makes `recorded` of them, which is never encoded again. An execution has a
    copy of the bytes: recording anew does not change what runs.
    """

    id: int
    """Number that the process never uses again."""
    device: int
    ordinal: int
    flags: int
    context: object
    """The application's context."""
    parts: list[bytes] = field(default_factory=list[bytes])
    size: int = 0
    """Bytes of all commands."""
    signals: list[tuple[int, SyncPoint]] = field(default_factory=list[tuple[int, "SyncPoint"]])
    """Where the signal of a counting event stands in the commands, and of which."""
    calls: list[tuple[int, HostFunction]] = field(default_factory=list[tuple[int, "HostFunction"]])
    """Where functions of the program stand in the commands."""
    was_executed: bool = False
    """Whether the numbers that counting events got at the appends are taken."""
    recorded: bytes | None = None
    """All commands, once the list is closed."""
    uses: set[int] = field(default_factory=set[int])
    """Numbers of the allocations and events that its commands name."""
    events: dict[int, SyncPoint] = field(default_factory=dict[int, "SyncPoint"])
    """Events that its commands name, by number."""
    runs: dict[Stream, int] = field(default_factory=dict["Stream", int])
    """Where it was executed, and the last command of the last time."""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"command list {self.id}"

    def append(
        self,
        commands: bytes,
        uses: Iterable[int],
        events: Iterable[SyncPoint] = (),
        signal: SyncPoint | None = None,
        calls: Iterable[tuple[int, HostFunction]] = (),
    ) -> None:
        """Record encoded commands, the last of which signals an event if one is given.

        `uses` are the numbers of what they name, `events` those of it that are events. `calls` are
        functions of the program, and where the commands have room for them.

        Raises:
            ZeError: the list is closed; nothing was recorded.
        """
        if self.recorded is not None:
            raise invalid_argument(f"{self.name} is closed: reset it before appending")
        self.calls += [(self.size + at, function) for at, function in calls]
        self.parts.append(commands)
        self.size += len(commands)
        self.uses.update(uses)
        for event in events:
            self.events[event.id] = event
        if signal is not None and signal.is_counting:
            self.signals.append((self.size - WORK_COMMAND_SIZE, signal))

    def close(self) -> None:
        """End recording.

        Raises:
            ZeError: the list is closed already.
        """
        if self.recorded is not None:
            raise invalid_argument(f"{self.name} is closed already")
        self.recorded = b"".join(self.parts)
        self.parts.clear()

    def reset(self) -> None:
        """Forget all commands; the list is open again. What was executed goes on."""
        self.parts.clear()
        self.size = 0
        self.signals.clear()
        self.calls.clear()
        self.was_executed = False
        self.uses.clear()
        self.events.clear()
        self.recorded = None

    def check_executable(self) -> None:
        """Do nothing for a list that can be executed.

        Raises:
            ZeError: the list is open; an event that its commands name was destroyed, so that its
                place may be another event's.
        """
        if self.recorded is None:
            raise invalid_argument(f"{self.name} is not closed")
        for event in self.events.values():
            event.check()

    def for_execution(self) -> bytes:
        """Return the commands of one more execution.

        They are those recorded, except that from the second time on each signal of a counting event
        stores its next number, as if it had been asked for anew.

        Raises:
            ZeError: the list is open.
        """
        recorded = self.recorded
        if recorded is None:
            raise invalid_argument(f"{self.name} is not closed")
        if not self.signals or not self.was_executed:
            self.was_executed = True
            return recorded
        commands = bytearray(recorded)
        for at, event in self.signals:
            end = at + WORK_COMMAND_SIZE
            commands[at:end] = event.again(recorded[at:end])
        return bytes(commands)


async def prepare(state: DriverState, stream: Stream, lists: Iterable[CommandList]) -> None:
    """Give a stream what it needs to execute lists: a thread, where they call functions.

    Raises:
        ZeError: see `prepare_calls`.
    """
    if any(commands.calls for commands in lists):
        await prepare_calls(state, stream)


async def execute(
    state: DriverState,
    stream: Stream,
    lists: Iterable[CommandList],
    last: bytes = b"",
    first: bytes = b"",
    named: Iterable[int] = (),
) -> int:
    """Hand closed lists over to a stream, and commands around them; return the last one's number.

    The stream was prepared for them.
    `named` are the numbers of the events that the commands around the lists name.

    Raises:
        ZeError: a list is open or names an event that was destroyed; the stream has failed.
            Nothing was handed over then.
    """
    stream.refuse_failed()
    lists = tuple(lists)
    for commands in lists:
        commands.check_executable()
    parts: list[bytes] = [first] if first else []
    uses: set[int] = set(named)
    calls: list[tuple[int, HostFunction]] = []
    size = len(first)
    for commands in lists:
        parts.append(commands.for_execution())
        uses |= commands.uses
        calls += [(size + at, function) for at, function in commands.calls]
        size += commands.size
    if last:
        parts.append(last)
    # Noted before anything is asked: the number that its last command is going to have.
    blob = parts[0] if len(parts) == 1 else b"".join(parts)
    number = stream.issued + len(blob) // WORK_COMMAND_SIZE
    for commands in lists:
        commands.runs[stream] = number
    return await hand_over(state, stream, blob, uses, calls)


async def is_running(state: DriverState, commands: CommandList) -> bool:
    """Whether an execution of a list is not done; one whose stream failed is over."""
    for stream, number in list(commands.runs.items()):
        try:
            if not await is_done(state, stream, number):
                return True
        except ZeError:
            pass
        if commands.runs.get(stream) == number:
            del commands.runs[stream]
    return False
