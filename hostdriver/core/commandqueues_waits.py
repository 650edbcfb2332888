"""Waiting for the commands of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.core.commandqueues_failures import stop_stream
from hostdriver.core.faulttext import work_failed
from hostdriver.core.questions import Clock, Faults, Pause, WaitWord
from hostdriver.core.queue import word_of

if TYPE_CHECKING:
    from hostdriver.core.commandqueues_stream import Stream
    from hostdriver.core.state import DriverState


async def is_done(state: DriverState, stream: Stream, number: int) -> bool:
    """Whether a command is done; looks, and never waits.

    Raises:
        ZeError: the stream stopped before (DEVICE_LOST).
    """
    return stream.done >= number or await wait_until(state, stream, number, 0.0)


async def wait_until(
    state: DriverState, stream: Stream, number: int, timeout_seconds: float | None
) -> bool:
    """Wait until a command is done; return False when the time is up, which changes nothing.

    Raises:
        ZeError: the stream stopped before (DEVICE_LOST); the description says what did it.
    """
    if stream.done < number and stream.queue is None and stream.failure is None:
        timeout_seconds = await _await_queue(stream, timeout_seconds)
    while stream.done < number:
        stream.refuse_failed()
        queue = stream.queue
        if queue is None:
            return False
        stream.waiters += 1
        try:
            waited = await WaitWord(
                stream.plan.device, word_of(queue), number + stream.shift, timeout_seconds
            )
        finally:
            stream.waiters -= 1
        stream.done = max(stream.done, waited.value - stream.shift)
        if stream.done >= number:
            break
        if waited.status:
            await fail_stream(state, stream, waited.status)
            continue
        return False
    return True


async def fail_stream(state: DriverState, stream: Stream, status: int) -> None:
    """Note that the device queue of a stream stopped, and why."""
    queue = stream.queue
    faults = () if queue is None else await Faults(stream.plan.device, queue.queue_id)
    stop_stream(state, stream, work_failed(status, faults, stream.name), status)


async def _await_queue(stream: Stream, timeout_seconds: float | None) -> float | None:
    """Wait for a device queue, while all have work to do; return what is left of the time."""
    if timeout_seconds is None:
        while stream.queue is None and stream.failure is None and stream.backlog:
            await Pause()
        return None
    until = await Clock() + timeout_seconds
    left = timeout_seconds
    while stream.queue is None and stream.failure is None and stream.backlog and left > 0:
        await Pause()
        left = max(0.0, until - await Clock())
    return left
