"""Streams: the in-order engines of the application, one for each command queue and immediate list.

What is handed over to a stream never waits: as much as fits goes into the ring of a device queue at
once, the rest stands in the stream's backlog and is pushed on beside. A stream that waits for an
event therefore holds nobody, whatever is behind it.

Each stream has a device queue of its own while the device has one to give. When it has none left,
the queue of a stream that has nothing to do goes to one that has; only when every queue of the
device has work that is not done does a further stream wait for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.ids import WORK_COMMAND_SIZE
from firmware.abi.status import Status
from hostdriver.core.commandqueues_failures import stop_stream
from hostdriver.core.commandqueues_rings import STREAM_ENTRIES, give_queue, take_queue
from hostdriver.core.commandqueues_stream import Stream
from hostdriver.core.commandqueues_waits import fail_stream, is_done
from hostdriver.core.failures import device_lost, in_use, invalid_argument
from hostdriver.core.hostcalls import close_calls, place_calls
from hostdriver.core.questions import AwaitRoom, Beside, Offer, Pause
from hostdriver.core.results import Refusal, ZeError, failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hostdriver.core.commandqueues_stream import StreamPlan
    from hostdriver.core.questions import Operation
    from hostdriver.core.state import DriverState
    from hostdriver.core.streamquestions import HostFunction

_ROOM: Final = STREAM_ENTRIES // 4
"""Room that is waited for when a ring is full: fewer wake-ups than one for each command."""


async def open_stream(state: DriverState, plan: StreamPlan) -> Stream:
    """Make a stream.

    Raises:
        ZeError: the device is lost or does not make such a queue; there is no stream then.
    """
    stream = Stream(state.next_id(), plan)
    try:
        await give_queue(state, stream)
    except Refusal as refusal:
        raise failed(refusal, f"{stream.name} cannot be made") from refusal
    state.streams[stream.id] = stream
    return stream


async def close_stream(state: DriverState, stream: Stream) -> None:
    """End a stream whose work is done, or that failed.

    Raises:
        ZeError: its work is not done (HANDLE_OBJECT_IN_USE); nothing changed. The device is lost:
            then the stream is gone all the same.
    """
    if stream.failure is None and not await is_done(state, stream, stream.issued):
        raise in_use(f"{stream.name} has {stream.issued - stream.done} commands that are not done")
    if stream.leaving or stream.id not in state.streams:
        raise invalid_argument(f"{stream.name} is being destroyed by another call")
    stream.leaving = True
    del state.streams[stream.id]
    try:
        await take_queue(stream)
    finally:
        close_calls(state, stream)


async def hand_over(
    state: DriverState,
    stream: Stream,
    commands: bytes,
    uses: Iterable[int] = (),
    calls: Sequence[tuple[int, HostFunction]] = (),
) -> int:
    """Put encoded commands at the end of a stream; return the number of the last. Never waits.

    Args:
        state: the process's state.
        stream: where they go.
        commands: 64 bytes each; none at all is as good as done.
        uses: numbers of the allocations that they name.
        calls: functions of the program, which the stream was prepared for, and where the commands
            have room for them.

    Raises:
        ZeError: the stream has failed (DEVICE_LOST); what was not begun is dropped.
    """
    stream.refuse_failed()
    commands = place_calls(stream, commands, calls)
    stream.issued += len(commands) // WORK_COMMAND_SIZE
    number = stream.issued
    stream.show()
    if commands:
        stream.note_uses(number, uses)
        stream.backlog.append(memoryview(commands))
        if not stream.is_pushing:
            await _push(state, stream, may_wait=False)
            stream.refuse_failed()
    return number


async def _push(state: DriverState, stream: Stream, *, may_wait: bool) -> None:
    """Offer the backlog to the device; without `may_wait`, what does not fit is pushed on beside.

    An error is the stream's failure; nothing is raised for it here.
    """
    stream.is_pushing = True
    is_handed_on = False
    try:
        while stream.backlog and stream.failure is None:
            if not await _offer(state, stream):
                if not may_wait:
                    is_handed_on = True
                    if await Beside(_pusher(state, stream)) is None:
                        return
                    is_handed_on = False
                await _await_room(stream)
    except ZeError as error:
        stop_stream(state, stream, error, Status.DEVICE_LOST)
    except Refusal as refusal:
        stop_stream(state, stream, failed(refusal, f"{stream.name} has no queue"), refusal.status)
    except BaseException:
        # An interrupt between the ring and this record: nobody knows what was taken.
        interrupted = device_lost(f"{stream.name} was interrupted")
        stop_stream(state, stream, interrupted, Status.DEVICE_LOST)
        raise
    finally:
        # What was handed on may have ended before this one goes on, and has said so then.
        if not is_handed_on or stream.failure is not None:
            stream.is_pushing = False


def _pusher(state: DriverState, stream: Stream) -> Callable[[], Operation[None]]:
    return lambda: _push(state, stream, may_wait=True)


async def _offer(state: DriverState, stream: Stream) -> bool:
    """Offer the first part of the backlog; return whether all of it was taken."""
    queue = stream.queue or await give_queue(state, stream)
    if queue is None:
        return False
    part = stream.backlog[0]
    answer = await Offer(stream.plan.device, queue.queue_id, part)
    stream.done = max(stream.done, answer.completed - stream.shift)
    if answer.status:
        await fail_stream(state, stream, answer.status)
    if stream.failure is not None:
        # Here or, while the offer was out, by another thread that waited.
        return True
    stream.entered += answer.taken
    size = answer.taken * WORK_COMMAND_SIZE
    if size == part.nbytes:
        stream.backlog.popleft()
        return True
    stream.backlog[0] = part[size:]
    return False


async def _await_room(stream: Stream) -> None:
    if stream.queue is None or not stream.backlog:
        await Pause()
        return
    needed = stream.backlog[0].nbytes // WORK_COMMAND_SIZE
    await AwaitRoom(stream.plan.device, stream.queue.queue_id, min(needed, _ROOM))
