"""How a stream stops, and who is told: its context, and whoever waits for what it was to signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.ids import WORK_COMMAND_SIZE
from firmware.abi.work import FenceWrite, WorkFlags, WorkOpcode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostdriver.core.commandqueues_stream import Stream
    from hostdriver.core.results import ZeError
    from hostdriver.core.slotmemory import SlotMemory
    from hostdriver.core.state import DriverState

_FENCE_WRITE: Final = int(WorkOpcode.FENCE_WRITE).to_bytes(2, "little")


def stop_stream(state: DriverState, stream: Stream, error: ZeError, status: int) -> None:
    """Note that nothing of a stream runs any more, and why; the first reason stays.

    Waits for events that it was to signal end with `status`: the device ends those of commands
    that its ring holds, this function those of the backlog. Where a fault stops a whole context,
    the other streams of it take nothing any more either; what the device has of them ends by
    itself.
    """
    _stop(state, stream, error, status)
    context = stream.plan.context
    context.faulted = context.faulted or error.description
    if state.faults_stop_contexts:
        for other in list(state.streams.values()):
            if other.plan.context is context:
                _stop(state, other, error, status)


def _stop(state: DriverState, stream: Stream, error: ZeError, status: int) -> None:
    if stream.failure is None:
        stream.failure = error
        stream.show()
    backlog = list(stream.backlog)
    stream.backlog.clear()
    if not backlog:
        return
    memories = _memories(state, stream.plan.device)
    for part in backlog:
        for write in _signals(part):
            memory = memories.get(write.pool)
            if memory is not None:
                memory.fail(write.slot, status)


def _signals(commands: memoryview) -> Iterator[FenceWrite]:
    """Yield the commands that signal an event; not those that reset it, or note when it began."""
    for at in range(0, commands.nbytes, WORK_COMMAND_SIZE):
        if bytes(commands[at : at + 2]) == _FENCE_WRITE:
            write = FenceWrite.unpack(commands, at)
            if (
                isinstance(write, FenceWrite)
                and write.value
                and WorkFlags.STAMP_START not in write.flags
            ):
                yield write


def _memories(state: DriverState, device: int) -> dict[int, SlotMemory]:
    """Return the slots of every pool that this process has, by what a device calls the pool."""
    pools = [*state.private_slots.pools]
    pools += [pool.shared for pool in state.event_pools.values() if pool.shared is not None]
    pools += [event.slot.pool for event in state.events.values()]
    return {pool.numbers[device]: pool.memory for pool in pools if device in pool.numbers}
