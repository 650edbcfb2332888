"""Device queues for streams: one for each, or those that idle go round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.control import QueueCreate, QueueDestroy
from firmware.abi.replies import Done, QueueCreated
from firmware.abi.status import Status
from hostdriver.core.calls import call
from hostdriver.core.commandqueues_waits import is_done
from hostdriver.core.questions import Pause
from hostdriver.core.results import Refusal, ZeError, failed

if TYPE_CHECKING:
    from hostdriver.core.commandqueues_stream import Stream
    from hostdriver.core.state import DriverState

STREAM_ENTRIES: Final = 256
"""Commands of a stream's ring; more wait in the backlog."""


async def give_queue(state: DriverState, stream: Stream) -> QueueCreated | None:
    """Give a stream a device queue and return it; None when all have work that is not done.

    Raises:
        Refusal: the device makes no such queue.
        ZeError: the device is lost.
    """
    device = state.devices[stream.plan.device]
    entries = min(max(STREAM_ENTRIES, device.spec.min_ring_entries), device.spec.max_ring_entries)
    command = QueueCreate(
        request=0,
        vmid=device.vmid,
        kind=stream.plan.kind,
        entry_count=entries,
        priority=stream.plan.priority,
    )
    while True:
        try:
            queue = await call(stream.plan.device, command, QueueCreated)
        except Refusal as refusal:
            if refusal.status is not Status.LIMIT:
                raise
            if not await reclaim_queue(state, stream.plan.device):
                return None
        else:
            stream.queue, stream.shift = queue, -stream.entered
            stream.show()
            return queue


async def reclaim_queue(state: DriverState, device: int) -> bool:
    """Take the device queue of a stream that idles; return whether there was one.

    Raises:
        ZeError: the device is lost.
    """
    idle = await _idle_stream(state, device)
    if idle is not None:
        await take_queue(idle)
    return idle is not None


async def _idle_stream(state: DriverState, device: int) -> Stream | None:
    """Return a stream of the device whose queue has nothing to do, the oldest first."""
    for stream in list(state.streams.values()):
        if stream.plan.device != device or stream.queue is None or stream.is_pushing:
            continue
        try:
            idle = await is_done(state, stream, stream.issued)
        except ZeError:
            continue
        if idle and _is_free(stream):
            return stream
    return None


def _is_free(stream: Stream) -> bool:
    """Whether a stream's queue can be given to another now."""
    held = stream.is_pushing or stream.waiters or stream.leaving or stream.queue is None
    return not held and stream.done == stream.issued


async def take_queue(stream: Stream) -> None:
    """Destroy a stream's device queue, which does nothing any more."""
    while stream.waiters:
        # They return at once: what they wait for is done. Their words must stay until then.
        await Pause()
    queue, stream.queue = stream.queue, None
    stream.show()
    if queue is None:
        return
    try:
        await call(stream.plan.device, QueueDestroy(request=0, queue_id=queue.queue_id), Done)
    except Refusal as refusal:
        raise failed(refusal, f"{stream.name} cannot be destroyed") from refusal
