"""Threads that run the chunks of large copies, so that rings go on meanwhile."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, final

from device.core.errors import InternalError
from firmware.link.bells import EventfdBell

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.memory import Chunk


class Finished(NamedTuple):
    """A chunk that ran."""

    device_index: int
    chunk: Chunk | None
    """None for a chore."""
    bug: BaseException | None
    """What it raised that is no fault of memory: a bug of ours."""


@final
class Workers:
    """A few threads for chunks, and one for chores.

    Owner: the pump. A chunk touches memory only; what it means for the device happens in the pump
    when it collects the chunk. Invariant: every chunk that was started is collected exactly once.
    """

    __slots__ = ("_chores", "_done", "_in_flight", "_pool", "bell")

    def __init__(self, thread_count: int) -> None:
        self._pool = ThreadPoolExecutor(thread_count, thread_name_prefix="emuzero-copy")
        self._chores = ThreadPoolExecutor(1, thread_name_prefix="emuzero-chore")
        self._done: deque[Finished] = deque()
        self._in_flight = 0
        self.bell = EventfdBell()
        """Rung when a chunk is done."""

    @property
    def in_flight(self) -> int:
        """Chunks and chores started and not collected yet."""
        return self._in_flight

    def start(self, device_index: int, chunk: Chunk) -> None:
        """Run a chunk in one of the threads."""
        self._in_flight += 1
        self._pool.submit(self._run, device_index, chunk, chunk.run)

    def defer(self, chore: Callable[[], None]) -> None:
        """Run something that may take long and that nobody waits for; one after another."""
        self._in_flight += 1
        self._chores.submit(self._run, 0, None, chore)

    def _run(self, device_index: int, chunk: Chunk | None, task: Callable[[], None]) -> None:
        bug: BaseException | None = None
        try:
            task()
        except BaseException as error:  # noqa: BLE001 - raised again in the pump's own thread
            bug = error
        self._done.append(Finished(device_index, chunk, bug))
        self.bell.ring()

    def collect(self) -> list[Finished]:
        """Return the chunks and chores that are done.

        Raises:
            InternalError: one failed otherwise than by a fault; the device cannot go on.
        """
        self.bell.clear()
        done: list[Finished] = []
        while self._done:
            done.append(self._done.popleft())
        self._in_flight -= len(done)
        for finished in done:
            if finished.bug is not None:
                size = "no" if finished.chunk is None else f"{finished.chunk.size:#x}"
                raise InternalError(f"chunk of {size} bytes") from finished.bug
        return done

    def close(self) -> None:
        """Wait for what runs, then end the threads."""
        self._pool.shutdown(wait=True)
        self._chores.shutdown(wait=True)
        self.bell.close()
