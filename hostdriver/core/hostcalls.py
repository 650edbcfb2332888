"""Functions of the program that run in their order in a stream, called by a thread of its own.

A stream that has any gets a fence slot and a thread of the program. The n-th function stands among
the commands as a store of 2n - 1 into the slot and a wait for 2n: the thread waits for the odd
number, calls the function, and stores the even one. However long a function takes, it holds its own
stream and nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from firmware.abi.ids import WORK_COMMAND_SIZE
from firmware.abi.status import Status
from firmware.abi.work import FenceWait, FenceWrite, WorkFlags
from hostdriver.core.failures import invalid_argument, out_of_host_memory
from hostdriver.core.questions import CallHost, OnThread, WaitSlot
from hostdriver.core.slots import give_slot, take_slot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hostdriver.core.commandqueues_stream import Stream
    from hostdriver.core.questions import Operation
    from hostdriver.core.slots import Slot
    from hostdriver.core.state import DriverState
    from hostdriver.core.streamquestions import HostFunction

PLACE: Final = bytes(2 * WORK_COMMAND_SIZE)
"""Where a function is going to stand among recorded commands, which know no stream yet."""


@final
@dataclass(slots=True, eq=False)
class HostCalls:
    """The functions of one stream that have not been called yet.

    Owner: the stream, and the operation that calls them while `is_served`; the slot goes back with
    the last of the two. Invariant: functions are numbered from 1 on, in the order of the stream.
    """

    slot: Slot
    is_served: bool = True
    is_closed: bool = False
    last: int = 0
    """Number of the last function handed over."""
    functions: dict[int, HostFunction] = field(default_factory=dict["int", "HostFunction"])

    def place(self, device: int, function: HostFunction) -> bytes:
        """Note one more function; return the commands at which it is called."""
        self.last += 1
        self.functions[self.last] = function
        pool, index = self.slot.pool.numbers[device], self.slot.index
        tag, reached = self.last & 0xFFFF_FFFF, 2 * self.last - 1
        flags = WorkFlags.NONE
        reach = FenceWrite(flags=flags, tag=tag, pool=pool, slot=index, value=reached)
        hold = FenceWait(flags=flags, tag=tag, pool=pool, slot=index, value=reached + 1)
        return reach.pack() + hold.pack()


async def prepare_calls(state: DriverState, stream: Stream) -> None:
    """Give a stream what it needs to call functions of the program: a slot and a thread.

    Raises:
        ZeError: no memory or thread is left for it; the device is lost; the stream failed, or was
            destroyed meanwhile. Nothing changed.
    """
    if stream.calls is None:
        await _open_calls(state, stream)
    stream.refuse_failed()
    if stream.id not in state.streams:
        raise invalid_argument(f"{stream.name} was destroyed")


def place_calls(
    stream: Stream, commands: bytes, calls: Sequence[tuple[int, HostFunction]]
) -> bytes:
    """Return commands with functions at their places, which are offsets of `PLACE`."""
    if not calls or stream.calls is None:
        return commands
    placed = bytearray(commands)
    for at, function in calls:
        placed[at : at + len(PLACE)] = stream.calls.place(stream.device, function)
    return bytes(placed)


def close_calls(state: DriverState, stream: Stream) -> None:
    """Let the thread of a stream go, whose queue does nothing any more."""
    calls, stream.calls = stream.calls, None
    if calls is None:
        return
    calls.is_closed = True
    if calls.is_served:
        _end_waits(calls)
    else:
        give_slot(state, calls.slot)


async def _open_calls(state: DriverState, stream: Stream) -> None:
    slot = await take_slot(state)
    if stream.calls is not None or stream.id not in state.streams:
        # Another thread was here meanwhile.
        give_slot(state, slot)
        return
    calls = stream.calls = HostCalls(slot)
    problem = await OnThread(_server(state, calls))
    if problem is not None:
        _give_up(state, stream, calls)
        raise out_of_host_memory(f"no thread is left for functions: {problem}")


def _give_up(state: DriverState, stream: Stream, calls: HostCalls) -> None:
    """Take back what a stream was given, which gets no thread."""
    calls.is_served = False
    if calls.last:
        # Another thread relied on it meanwhile.
        _end_waits(calls)
    else:
        close_calls(state, stream)


def _server(state: DriverState, calls: HostCalls) -> Callable[[], Operation[None]]:
    return lambda: _serve(state, calls)


async def _serve(state: DriverState, calls: HostCalls) -> None:
    """Call functions as the device comes to them, until the stream stops or is closed."""
    try:
        await _call_in_order(calls)
        if not calls.is_closed:
            # Nobody is going to call what comes: its wait faults, so that nobody waits for it.
            _end_waits(calls)
    finally:
        calls.is_served = False
        calls.functions.clear()
        if calls.is_closed:
            give_slot(state, calls.slot)


async def _call_in_order(calls: HostCalls) -> None:
    pool, index = calls.slot.pool, calls.slot.index
    number = 1
    while True:
        reached = 2 * number - 1
        waited = await WaitSlot(pool.home, pool.memory, index, reached, None)
        function = calls.functions.pop(number, None)
        if calls.is_closed or waited.value < reached or function is None:
            return
        await CallHost(function)
        pool.memory.signal(index, reached + 1)
        number += 1


def _end_waits(calls: HostCalls) -> None:
    calls.slot.pool.memory.fail(calls.slot.index, Status.DEVICE_LOST)
