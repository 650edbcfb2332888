"""What lists ask of events and fences: commands that wait, signal and reset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.core.commandlists import CommandList
    from hostdriver.core.commandlists_memory import Pointer
    from hostdriver.core.commandqueues_stream import Stream
    from hostdriver.core.events import Signal
    from hostdriver.core.state import DriverState


class SyncPoint(Protocol):
    """An event as a list sees it. Each method is called once for each append.

    `target` is where the commands are going to stand: the stream of an immediate list or of a
    queue, or a regular list.

    Raises:
        ZeError: the event was destroyed or cannot be used there; nothing changed.
    """

    @property
    def id(self) -> int:
        """Number that the process never uses again."""
        ...

    @property
    def is_counting(self) -> bool:
        """Whether each signal stores a number of its own."""
        ...

    def check(self) -> None:
        """Do nothing for an event that lives."""
        ...

    def wait_commands(self, state: DriverState, target: Stream | CommandList) -> bytes:
        """Return the commands that hold a ring until the event is signalled."""
        ...

    def signal_commands(self, state: DriverState, target: Stream | CommandList) -> Signal:
        """Return the commands that signal the event when those between them are done."""
        ...

    def again(self, signal: bytes) -> bytes:
        """Return the signal, `after` of `signal_commands`, as one more execution has it."""
        ...

    def reset_commands(self, state: DriverState, target: Stream | CommandList) -> bytes:
        """Return the commands that make the event not signalled."""
        ...

    def times_commands(
        self, state: DriverState, target: Stream | CommandList, destination: Pointer
    ) -> bytes:
        """Return the commands that store the event's kernel timestamps, 32 bytes."""
        ...


def around(
    state: DriverState,
    target: Stream | CommandList,
    body: bytes,
    signal: SyncPoint | None,
    waits: Sequence[SyncPoint],
) -> bytes:
    """Return commands that wait for events, do something, and signal an event."""
    if signal is None and not waits:
        return body
    parts = [event.wait_commands(state, target) for event in waits]
    if signal is None:
        return b"".join((*parts, body))
    marks = signal.signal_commands(state, target)
    return b"".join((*parts, marks.before, body, marks.after))
