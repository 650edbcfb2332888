"""Command queues: made, given lists to execute, waited for."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, TypeVar

from hostdriver.api.queue_groups import check_queue
from hostdriver.api.validation import check_flags, read_chain
from hostdriver.core.commandlists import execute, prepare
from hostdriver.core.commandqueues import close_stream, open_stream
from hostdriver.core.commandqueues_stream import Stream, StreamPlan
from hostdriver.core.commandqueues_waits import wait_until
from hostdriver.core.failures import (
    invalid_argument,
    invalid_command_list_type,
    invalid_enumeration,
    invalid_size,
    not_ready,
    null_handle,
    null_pointer,
)
from hostdriver.core.results import ZeError
from hostdriver.core.timeouts import INFINITE, seconds_of
from hostdriver.core.work_enums import CommandQueueFlags, CommandQueueMode, CommandQueuePriority

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.command_structures import CommandQueueDesc
    from hostdriver.core.commandlists import CommandList
    from hostdriver.core.commandlists_sync import SyncPoint
    from hostdriver.core.commandqueues_stream import WorkContext
    from hostdriver.core.state import DriverState

MemberT = TypeVar("MemberT", bound=IntEnum)
_PRIORITY: Final = {
    CommandQueuePriority.NORMAL: 0,
    CommandQueuePriority.PRIORITY_HIGH: 1,
    CommandQueuePriority.PRIORITY_LOW: 2,
}
"""Priorities of the device."""


async def create(
    state: DriverState,
    context: WorkContext,
    device: int | None,
    desc: CommandQueueDesc | None,
    what: str = "command queue",
) -> Stream:
    """Make the engine of a queue or an immediate list (zeCommandQueueCreate).

    Raises:
        ZeError: null handle or pointer; unknown flags, mode or priority; a group or queue that the
            device does not have; the device is lost.
    """
    if device is None:
        raise null_handle("hDevice")
    if desc is None:
        raise null_pointer("desc")
    check_flags(CommandQueueFlags, desc.flags, "desc.flags")
    mode = _member(CommandQueueMode, desc.mode, "desc.mode")
    priority = _member(CommandQueuePriority, desc.priority, "desc.priority")
    read_chain(state, desc.p_next, ())
    group = check_queue(state.devices[device].spec, desc.ordinal, desc.index)
    plan = StreamPlan(
        what=what,
        device=device,
        ordinal=desc.ordinal,
        kind=group.kind,
        priority=_PRIORITY[priority],
        is_synchronous=mode is CommandQueueMode.SYNCHRONOUS,
        context=context,
    )
    return await open_stream(state, plan)


async def destroy(state: DriverState, stream: Stream) -> None:
    """End a queue, or an immediate list (zeCommandQueueDestroy, zeCommandListDestroy).

    Raises:
        ZeError: destroyed already; its work is not done (HANDLE_OBJECT_IN_USE).
    """
    check_alive(state, stream)
    await close_stream(state, stream)


async def execute_lists(
    state: DriverState,
    stream: Stream,
    lists: Sequence[CommandList | Stream | None] | None,
    fence: SyncPoint | None,
) -> None:
    """Execute closed lists in order, then signal a fence (zeCommandQueueExecuteCommandLists).

    Raises:
        ZeError: no lists, a null handle; a list that is immediate or of another group or device;
            one that is not closed, was destroyed, or names an event that was; a fence that cannot
            be used; the queue failed. Nothing was executed.
    """
    check_alive(state, stream)
    if lists is None:
        raise null_pointer("phCommandLists")
    if not lists:
        raise invalid_size("numCommandLists is 0")
    checked = [check_list(state, stream, item) for item in lists]
    for commands in checked:
        commands.check_executable()
    await prepare(state, stream, checked)
    stream.refuse_failed()
    last = b"" if fence is None else fence.signal_commands(state, stream).after
    named = () if fence is None else (fence.id,)
    number = await execute(state, stream, checked, last, named=named)
    if stream.plan.is_synchronous:
        await wait_until(state, stream, number, None)


async def synchronize(state: DriverState, stream: Stream, nanoseconds: int) -> None:
    """Wait until all that was handed over is done (zeCommandQueueSynchronize).

    Raises:
        ZeError: the time, in nanoseconds, was up before (NOT_READY): nothing changed; the queue
            failed (DEVICE_LOST).
    """
    check_alive(state, stream)
    number = stream.issued
    stream.refuse_failed()
    if not await wait_until(state, stream, number, seconds_of(nanoseconds)):
        raise not_ready(f"{stream.name} has {number - stream.done} commands that are not done")


async def synchronize_device(state: DriverState, device: int) -> None:
    """Wait until all that was handed over to queues and lists of a device is done.

    Raises:
        ZeError: one of them failed (DEVICE_LOST); the others were waited for all the same.
    """
    failure: ZeError | None = None
    for stream in tuple(state.streams.values()):
        if stream.device != device or stream.id not in state.streams:
            continue
        try:
            await synchronize(state, stream, INFINITE)
        except ZeError as error:
            failure = failure or error
    if failure is not None:
        raise failure


def check_alive(state: DriverState, stream: Stream) -> None:
    """Do nothing for a stream that this process has.

    Raises:
        ZeError: it was destroyed, or is of the process that this one was forked from.
    """
    if state.streams.get(stream.id) is not stream:
        raise invalid_argument(f"{stream.name} was destroyed, or belongs to another process")


def check_list(
    state: DriverState, stream: Stream, commands: CommandList | Stream | None
) -> CommandList:
    """Return a list that a stream can execute.

    Raises:
        ZeError: it is null, immediate, destroyed, or of another group or device.
    """
    if commands is None:
        raise null_handle("phCommandLists")
    if isinstance(commands, Stream) or state.lists.get(commands.id) is not commands:
        if commands.id in state.streams:
            raise invalid_command_list_type(f"{commands.name} is immediate: it executes by itself")
        raise invalid_argument(f"{commands.name} was destroyed, or belongs to another process")
    if commands.device != stream.plan.device:
        raise invalid_argument(f"{commands.name} is of another device than {stream.name}")
    if commands.ordinal != stream.plan.ordinal:
        raise invalid_command_list_type(
            f"{commands.name} was made for group {commands.ordinal}, {stream.name} belongs to"
            f" group {stream.plan.ordinal}"
        )
    return commands


def _member(kind: type[MemberT], value: int, name: str) -> MemberT:
    try:
        return kind(value)
    except ValueError:
        wanted = ", ".join(f"{member.name}={int(member)}" for member in kind)
        raise invalid_enumeration(f"{name} is {value}, expected {wanted}") from None
