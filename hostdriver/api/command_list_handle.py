"""The application's handle of a command list."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from hostdriver.api import command_append, command_list
from hostdriver.api import command_append_events as append_events
from hostdriver.api.command_list import Sync
from hostdriver.api.command_queue_handle import targets_of
from hostdriver.api.command_regions import Side
from hostdriver.api.command_unsupported import NotOffered
from hostdriver.core.commandqueues_stream import Stream
from hostdriver.core.failures import null_handle
from hostdriver.core.timeouts import INFINITE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.command_list import Target
    from hostdriver.api.command_queue_handle import EventHandle
    from hostdriver.api.command_structures import CommandListDesc, CommandQueueDesc, CopyRegion
    from hostdriver.api.context import Context
    from hostdriver.api.device import Device
    from hostdriver.api.structures import ChainedDesc, UnknownDesc
    from hostdriver.core.commandlists_sync import SyncPoint


@final
class CommandList(NotOffered):
    """A command list, regular or immediate.

    What is appended to a regular list is recorded, and executed by a queue as often as wanted; what
    is appended to an immediate one is executed at once. One thread at a time may use a list.
    """

    __slots__ = ("_context", "_desc", "_device", "_driver", "target")

    def __init__(
        self,
        context: Context,
        device: Device,
        target: Target,
        desc: CommandListDesc | CommandQueueDesc,
    ) -> None:
        self._context = context
        self._driver = context.driver
        self._device = device
        self._desc = desc
        self.target = target
        """What the driver knows of it; for this package."""

    def __repr__(self) -> str:
        return f"<CommandList: {self.target.name}>"

    def destroy(self) -> None:
        """Destroy the list (zeCommandListDestroy); it must not be executed any more."""
        self._driver.run(lambda state: command_list.destroy(state, self.target))

    def close(self) -> None:
        """End recording (zeCommandListClose)."""
        self._driver.run(lambda state: command_list.close(state, self.target))

    def reset(self) -> None:
        """Forget what was recorded and open the list again (zeCommandListReset)."""
        self._driver.run(lambda state: command_list.reset(state, self.target))

    def host_synchronize(self, timeout: int = INFINITE) -> None:
        """Wait, at most so many nanoseconds, until all that was appended is done."""
        self._driver.run(lambda state: command_list.host_synchronize(state, self.target, timeout))

    def get_device_handle(self) -> Device:
        """Return the device of the list."""
        return self._device

    def get_context_handle(self) -> Context:
        """Return the context of the list."""
        return self._context

    def get_ordinal(self) -> int:
        """Return the group of queues that executes the list."""
        return command_list.ordinal_of(self._desc)

    def get_flags(self) -> int:
        """Return the flags a regular list was made with."""
        return command_list.regular(self.target, self._desc).flags

    def is_immediate(self) -> bool:
        """Return whether what is appended is executed at once."""
        return isinstance(self.target, Stream)

    def immediate_get_index(self) -> int:
        """Return the physical queue of an immediate list."""
        return self._queue_desc().index

    def immediate_get_flags(self) -> int:
        """Return the flags an immediate list was made with."""
        return self._queue_desc().flags

    def immediate_get_mode(self) -> int:
        """Return the mode an immediate list was made with."""
        return self._queue_desc().mode

    def immediate_get_priority(self) -> int:
        """Return the priority an immediate list was made with."""
        return self._queue_desc().priority

    def append_memory_copy(
        self,
        dstptr: int | None,
        srcptr: int | None,
        size: int,
        signal_event: EventHandle | None = None,
        wait_events: Sequence[EventHandle | None] = (),
        *,
        p_next: Sequence[ChainedDesc | UnknownDesc] = (),
    ) -> None:
        """Append a copy between any two pointers; overlapping ranges copy as memmove does."""
        sync = _sync(signal_event, wait_events)
        self._driver.run(
            lambda state: command_append.memory_copy(
                state, self.target, dstptr, srcptr, size, sync, p_next
            )
        )

    def append_memory_copy_from_context(
        self,
        dstptr: int | None,
        context_src: Context | None,
        srcptr: int | None,
        size: int,
        signal_event: EventHandle | None = None,
        wait_events: Sequence[EventHandle | None] = (),
    ) -> None:
        """Append a copy from memory of another context; memory belongs to the process."""
        if context_src is None:
            raise null_handle("hContextSrc")
        self.append_memory_copy(dstptr, srcptr, size, signal_event, wait_events)

    def append_memory_copy_region(  # noqa: PLR0913, PLR0917 - the specification's arguments
        self,
        dstptr: int | None,
        dst_region: CopyRegion | None,
        dst_pitch: int,
        dst_slice_pitch: int,
        srcptr: int | None,
        src_region: CopyRegion | None,
        src_pitch: int,
        src_slice_pitch: int,
        signal_event: EventHandle | None = None,
        wait_events: Sequence[EventHandle | None] = (),
    ) -> None:
        """Append the copy of a box; a pitch of 0 means that rows or slices follow each other."""
        to = Side("dst", dstptr, dst_region, dst_pitch, dst_slice_pitch)
        out_of = Side("src", srcptr, src_region, src_pitch, src_slice_pitch)
        sync = _sync(signal_event, wait_events)
        self._driver.run(
            lambda state: command_append.memory_copy_region(state, self.target, to, out_of, sync)
        )

    def append_memory_fill(
        self,
        ptr: int | None,
        pattern: bytes | None,
        size: int,
        signal_event: EventHandle | None = None,
        wait_events: Sequence[EventHandle | None] = (),
        *,
        p_next: Sequence[ChainedDesc | UnknownDesc] = (),
    ) -> None:
        """Append a fill with a pattern, a power of two bytes long."""
        sync = _sync(signal_event, wait_events)
        self._driver.run(
            lambda state: command_append.memory_fill(
                state, self.target, ptr, pattern, size, sync, p_next
            )
        )

    def append_memory_prefetch(self, ptr: int | None, size: int) -> None:
        """Append a hint that memory is going to be used soon."""
        self._driver.run(
            lambda state: command_append.memory_prefetch(state, self.target, ptr, size)
        )

    def append_mem_advise(
        self, device: Device | None, ptr: int | None, size: int, advice: int
    ) -> None:
        """Append advice on how memory is going to be used."""
        index = None if device is None else device.index
        self._driver.run(
            lambda state: command_append.mem_advise(state, self.target, index, ptr, size, advice)
        )

    def append_barrier(
        self,
        signal_event: EventHandle | None = None,
        wait_events: Sequence[EventHandle | None] = (),
    ) -> None:
        """Append a barrier: what is before is done before what is behind begins."""
        sync = _sync(signal_event, wait_events)
        self._driver.run(lambda state: command_append.barrier(state, self.target, sync))

    def append_memory_ranges_barrier(
        self,
        ranges: Sequence[tuple[int | None, int]] | None,
        signal_event: EventHandle | None = None,
        wait_events: Sequence[EventHandle | None] = (),
    ) -> None:
        """Append a barrier for ranges of memory, (pointer, size) each."""
        sync = _sync(signal_event, wait_events)
        self._driver.run(
            lambda state: command_append.memory_ranges_barrier(state, self.target, ranges, sync)
        )

    def append_signal_event(
        self, event: EventHandle | None, *, p_next: Sequence[ChainedDesc | UnknownDesc] = ()
    ) -> None:
        """Append the signal of an event."""
        self._driver.run(
            lambda state: append_events.signal_event(state, self.target, _record(event), p_next)
        )

    def append_wait_on_events(
        self,
        events: Sequence[EventHandle | None],
        *,
        p_next: Sequence[ChainedDesc | UnknownDesc] = (),
    ) -> None:
        """Append a wait for events."""
        records = _sync(None, events).waits
        self._driver.run(
            lambda state: append_events.wait_on_events(state, self.target, records, p_next)
        )

    def append_event_reset(self, event: EventHandle | None) -> None:
        """Append the reset of an event."""
        self._driver.run(
            lambda state: append_events.event_reset(state, self.target, _record(event))
        )

    def append_write_global_timestamp(
        self,
        dstptr: int | None,
        signal_event: EventHandle | None = None,
        wait_events: Sequence[EventHandle | None] = (),
    ) -> None:
        """Append the store of the device's clock, 8 bytes."""
        sync = _sync(signal_event, wait_events)
        self._driver.run(
            lambda state: append_events.write_global_timestamp(state, self.target, dstptr, sync)
        )

    def append_query_kernel_timestamps(
        self,
        events: Sequence[EventHandle | None],
        dstptr: int | None,
        offsets: Sequence[int] | None = None,
        signal_event: EventHandle | None = None,
        wait_events: Sequence[EventHandle | None] = (),
    ) -> None:
        """Append the store of events' kernel timestamps, 32 bytes each."""
        records = _sync(None, events).waits
        sync = _sync(signal_event, wait_events)
        self._driver.run(
            lambda state: append_events.query_kernel_timestamps(
                state, self.target, records, dstptr, offsets, sync
            )
        )

    def immediate_append_command_lists(
        self,
        command_lists: Sequence[CommandList | None] | None,
        signal_event: EventHandle | None = None,
        wait_events: Sequence[EventHandle | None] = (),
        *,
        p_next: Sequence[ChainedDesc | UnknownDesc] = (),
    ) -> None:
        """Append closed regular lists to this immediate one."""
        targets = targets_of(command_lists)
        sync = _sync(signal_event, wait_events)
        self._driver.run(
            lambda state: append_events.command_lists(state, self.target, targets, sync, p_next)
        )

    def _queue_desc(self) -> CommandQueueDesc:
        return command_list.immediate(self.target, self._desc)


def _sync(signal: EventHandle | None, waits: Sequence[EventHandle | None]) -> Sync:
    return Sync(None if signal is None else signal.record, tuple(_record(event) for event in waits))


def _record(event: EventHandle | None) -> SyncPoint:
    if event is None:
        raise null_handle("hEvent")
    return event.record
