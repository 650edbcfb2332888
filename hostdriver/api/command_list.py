"""Command lists: made, recorded, closed, reset, ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hostdriver.api import command_queue
from hostdriver.api.command_queue import check_alive
from hostdriver.api.command_structures import CommandListDesc, CommandQueueDesc
from hostdriver.api.queue_groups import check_queue
from hostdriver.api.validation import check_flags, read_chain
from hostdriver.core.commandlists import CommandList, is_running
from hostdriver.core.commandlists_sync import around
from hostdriver.core.commandqueues import hand_over
from hostdriver.core.commandqueues_stream import Stream
from hostdriver.core.commandqueues_waits import wait_until
from hostdriver.core.failures import (
    in_use,
    invalid_argument,
    null_handle,
    null_pointer,
    unsupported_enumeration,
)
from hostdriver.core.work_enums import CommandListFlags

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hostdriver.core.commandlists_sync import SyncPoint
    from hostdriver.core.state import DriverState
    from hostdriver.core.streamquestions import HostFunction

Target: TypeAlias = CommandList | Stream
"""A regular list, or the engine of an immediate one."""


class Sync(NamedTuple):
    """Events of one append."""

    signal: SyncPoint | None = None
    waits: tuple[SyncPoint, ...] = ()


def create(
    state: DriverState, context: object, device: int | None, desc: CommandListDesc | None
) -> CommandList:
    """Make a regular list, open for recording (zeCommandListCreate).

    Raises:
        ZeError: null handle or pointer; unknown flags; clones are not offered
            (UNSUPPORTED_ENUMERATION); a group that the device does not have.
    """
    if device is None:
        raise null_handle("hDevice")
    if desc is None:
        raise null_pointer("desc")
    flags = check_flags(CommandListFlags, desc.flags, "desc.flags")
    if CommandListFlags.EXP_CLONEABLE in flags:
        raise unsupported_enumeration("command lists cannot be cloned")
    read_chain(state, desc.p_next, ())
    ordinal = desc.command_queue_group_ordinal
    check_queue(state.devices[device].spec, ordinal, 0)
    made = CommandList(state.next_id(), device, ordinal, int(flags), context)
    state.lists[made.id] = made
    return made


async def destroy(state: DriverState, target: Target) -> None:
    """End a list (zeCommandListDestroy).

    Raises:
        ZeError: destroyed already; an execution, or what was appended to an immediate list, is not
            done (HANDLE_OBJECT_IN_USE).
    """
    if isinstance(target, Stream):
        await command_queue.destroy(state, target)
        return
    check_recording(state, target)
    if await is_running(state, target):
        raise in_use(f"{target.name} is being executed")
    check_recording(state, target)
    del state.lists[target.id]


async def close(state: DriverState, target: Target) -> None:
    """End recording (zeCommandListClose).

    Raises:
        ZeError: the list is immediate, or closed already.
    """
    check_recording(state, target).close()


async def reset(state: DriverState, target: Target) -> None:
    """Open a list for new commands (zeCommandListReset); what was executed goes on.

    Raises:
        ZeError: the list is immediate.
    """
    check_recording(state, target).reset()


async def host_synchronize(state: DriverState, target: Target, nanoseconds: int) -> None:
    """Wait until all that was appended is done (zeCommandListHostSynchronize).

    Raises:
        ZeError: the list is not immediate; else as `command_queue.synchronize`.
    """
    if not isinstance(target, Stream):
        raise invalid_argument(f"{target.name} is not immediate: synchronize the queue instead")
    await command_queue.synchronize(state, target, nanoseconds)


def ordinal_of(desc: CommandListDesc | CommandQueueDesc) -> int:
    """Return the group of queues of a list, regular or immediate (zeCommandListGetOrdinal)."""
    if isinstance(desc, CommandListDesc):
        return desc.command_queue_group_ordinal
    return desc.ordinal


def regular(target: Target, desc: CommandListDesc | CommandQueueDesc) -> CommandListDesc:
    """Return what a regular list was made with (zeCommandListGetFlags).

    Raises:
        ZeError: the list is immediate.
    """
    if not isinstance(desc, CommandListDesc):
        raise invalid_argument(f"{target.name} has flags of a queue")
    return desc


def immediate(target: Target, desc: CommandListDesc | CommandQueueDesc) -> CommandQueueDesc:
    """Return what an immediate list was made with (zeCommandListImmediateGetFlags and others).

    Raises:
        ZeError: the list is regular.
    """
    if not isinstance(desc, CommandQueueDesc):
        raise invalid_argument(f"{target.name} is not immediate")
    return desc


async def append(
    state: DriverState,
    target: Target,
    body: bytes,
    *,
    uses: Iterable[int] = (),
    named: Sequence[SyncPoint] = (),
    signal: SyncPoint | None = None,
    waits: Sequence[SyncPoint] = (),
) -> None:
    """Append commands to a list that `check_open` accepted, between waits and a signal.

    `uses` are the numbers of the allocations that they name, `named` the events.

    Raises:
        ZeError: the immediate list failed (DEVICE_LOST); an event cannot be used.
    """
    commands = around(state, target, body, signal, waits)
    await finish_append(state, target, commands, Sync(signal, tuple(waits)), uses, named)


async def finish_append(
    state: DriverState,
    target: Target,
    commands: bytes,
    sync: Sync,
    uses: Iterable[int] = (),
    named: Sequence[SyncPoint] = (),
    calls: Sequence[tuple[int, HostFunction]] = (),
) -> None:
    """Append encoded commands, among them those of `sync`; wait for them where the list does.

    `calls` are functions of the application and where they stand.

    Raises:
        ZeError: the immediate list failed (DEVICE_LOST).
    """
    signal, waits = sync
    events = (*named, *waits) if signal is None else (*named, *waits, signal)
    if events:
        uses = (*uses, *(event.id for event in events))
    if isinstance(target, CommandList):
        target.append(commands, uses, events, signal, calls)
        return
    number = await hand_over(state, target, commands, uses, calls)
    if target.plan.is_synchronous:
        await wait_until(state, target, number, None)


def check_open(state: DriverState, target: Target) -> Target:
    """Return a list that takes commands.

    Raises:
        ZeError: it was destroyed, is closed, or failed (DEVICE_LOST).
    """
    if isinstance(target, Stream):
        check_alive(state, target)
        target.refuse_failed()
    elif check_recording(state, target).recorded is not None:
        raise invalid_argument(f"{target.name} is closed: reset it before appending")
    return target


def check_recording(state: DriverState, target: Target) -> CommandList:
    """Return a regular list.

    Raises:
        ZeError: it was destroyed, or is immediate.
    """
    if isinstance(target, Stream):
        check_alive(state, target)
        raise invalid_argument(f"{target.name} is never closed nor reset")
    if state.lists.get(target.id) is not target:
        raise invalid_argument(f"{target.name} was destroyed, or belongs to another process")
    return target
