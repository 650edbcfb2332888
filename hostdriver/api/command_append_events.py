"""What can be appended to a command list: events, times, other lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.api.command_list import Sync, append, check_open
from hostdriver.api.command_queue import check_list
from hostdriver.api.validation import check_pointer, read_chain
from hostdriver.core.commandlists import CommandList, execute, prepare
from hostdriver.core.commandlists_memory import (
    pointer_of,
    timestamp_commands,
)
from hostdriver.core.commandlists_sync import around
from hostdriver.core.commandqueues_stream import Stream
from hostdriver.core.commandqueues_waits import wait_until
from hostdriver.core.failures import (
    invalid_argument,
    invalid_size,
    null_pointer,
    unsupported_alignment,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.command_list import Target
    from hostdriver.api.structures import ChainedDesc, UnknownDesc
    from hostdriver.core.commandlists_memory import Pointer
    from hostdriver.core.commandlists_sync import SyncPoint
    from hostdriver.core.state import DriverState

_WORD: Final = 8
_TIMES: Final = 32
"""Bytes of ze_kernel_timestamp_result_t."""
_LAST_TIMES: Final = (1 << 64) - _TIMES
"""Last address at which they would fit."""


async def signal_event(
    state: DriverState,
    target: Target,
    event: SyncPoint,
    p_next: Sequence[ChainedDesc | UnknownDesc] = (),
) -> None:
    """Append the signal of an event (zeCommandListAppendSignalEvent and its other form).

    Raises:
        ZeError: a list that takes no commands; an event that cannot be used.
    """
    check_open(state, target)
    read_chain(state, p_next, ())
    await append(state, target, b"", signal=event)


async def wait_on_events(
    state: DriverState,
    target: Target,
    events: tuple[SyncPoint, ...],
    p_next: Sequence[ChainedDesc | UnknownDesc] = (),
) -> None:
    """Append a wait for events (zeCommandListAppendWaitOnEvents and its other form).

    Raises:
        ZeError: a list that takes no commands; an event that cannot be used.
    """
    check_open(state, target)
    read_chain(state, p_next, ())
    await append(state, target, b"", waits=events)


async def event_reset(state: DriverState, target: Target, event: SyncPoint) -> None:
    """Append the reset of an event (zeCommandListAppendEventReset).

    Raises:
        ZeError: a list that takes no commands; an event that cannot be used.
    """
    check_open(state, target)
    await append(state, target, event.reset_commands(state, target), named=(event,))


async def write_global_timestamp(
    state: DriverState, target: Target, destination: int | None, sync: Sync
) -> None:
    """Append the store of the device's clock (zeCommandListAppendWriteGlobalTimestamp).

    Raises:
        ZeError: null pointer; an address that is no multiple of 8 (UNSUPPORTED_ALIGNMENT); a list
            that takes no commands.
    """
    check_open(state, target)
    place = _aligned(state, destination)
    body = timestamp_commands(place)
    await append(state, target, body, uses=place.uses, signal=sync.signal, waits=sync.waits)


async def query_kernel_timestamps(
    state: DriverState,
    target: Target,
    events: tuple[SyncPoint, ...],
    destination: int | None,
    offsets: Sequence[int] | None,
    sync: Sync,
) -> None:
    """Append the store of events' times (zeCommandListAppendQueryKernelTimestamps).

    Raises:
        ZeError: null pointer; fewer offsets than events (INVALID_SIZE); an address that is no
            multiple of 8, or that does not exist; an event without times; a list that takes no
            commands.
    """
    check_open(state, target)
    place = _aligned(state, destination)
    if offsets is None:
        offsets = range(0, _TIMES * len(events), _TIMES)
    if len(offsets) < len(events):
        raise invalid_size(f"{len(offsets)} offsets for {len(events)} events")
    parts: list[bytes] = []
    for event, offset in zip(events, offsets, strict=False):
        at = place._replace(address=place.address + offset)
        if at.address % _WORD:
            raise unsupported_alignment(f"{at.address:#x} is no multiple of {_WORD}")
        if not 0 <= at.address <= _LAST_TIMES:
            raise invalid_argument(
                f"offset {offset:#x} from {place.address:#x} leads to no address"
            )
        parts.append(event.times_commands(state, target, at))
    body = b"".join(parts)
    await append(
        state,
        target,
        body,
        uses=place.uses,
        named=events,
        signal=sync.signal,
        waits=sync.waits,
    )


async def command_lists(
    state: DriverState,
    target: Target,
    lists: Sequence[CommandList | Stream | None] | None,
    sync: Sync,
    p_next: Sequence[ChainedDesc | UnknownDesc] = (),
) -> None:
    """Append closed lists to an immediate one (zeCommandListImmediateAppendCommandListsExp).

    Raises:
        ZeError: the list is not immediate; else as `command_queue.execute_lists`.
    """
    check_open(state, target)
    if not isinstance(target, Stream):
        raise invalid_argument(f"{target.name} is not immediate")
    if lists is None:
        raise null_pointer("phCommandLists")
    if not lists:
        raise invalid_size("numCommandLists is 0")
    checked = [check_list(state, target, item) for item in lists]
    for commands in checked:
        commands.check_executable()
    read_chain(state, p_next, ())
    await prepare(state, target, checked)
    first = around(state, target, b"", None, sync.waits)
    marks = None if sync.signal is None else sync.signal.signal_commands(state, target)
    first += b"" if marks is None else marks.before
    last = b"" if marks is None else marks.after
    named = [event.id for event in (*sync.waits, sync.signal) if event is not None]
    number = await execute(state, target, checked, last, first, named)
    if target.plan.is_synchronous:
        await wait_until(state, target, number, None)


def _aligned(state: DriverState, destination: int | None) -> Pointer:
    pointer = check_pointer(destination, "dstptr")
    if pointer % _WORD:
        raise unsupported_alignment(f"dstptr is {pointer:#x}, expected a multiple of {_WORD}")
    return pointer_of(state, pointer)
