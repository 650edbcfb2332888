"""The application's handle of a command list."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, final

from hostdriver.api import command_append, command_list
from hostdriver.api import command_append_events as append_events
from hostdriver.api.command_host_function import host_function
from hostdriver.api.command_list import Sync
from hostdriver.api.command_list_queries import ListQueries
from hostdriver.api.command_queue_handle import targets_of
from hostdriver.api.command_regions import Side
from hostdriver.core.failures import null_handle
from hostdriver.core.timeouts import INFINITE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hostdriver.api.command_queue_handle import EventHandle
    from hostdriver.api.command_structures import CopyRegion
    from hostdriver.api.context import Context
    from hostdriver.api.device import Device
    from hostdriver.api.structures import ChainedDesc, UnknownDesc
    from hostdriver.core.commandlists_sync import SyncPoint


@final
class CommandList(ListQueries):
    """A command list, regular or immediate.

    What is appended to a regular list is recorded, and executed by a queue as often as wanted; what
    is appended to an immediate one is executed at once. One thread at a time may use a list.
    """

    __slots__ = ()

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

    def append_host_function(
        self,
        function: Callable[[object], object] | None,
        user_data: object = None,
        signal_event: EventHandle | None = None,
        wait_events: Sequence[EventHandle | None] = (),
        *,
        p_next: Sequence[ChainedDesc | UnknownDesc] = (),
    ) -> None:
        """Append a call of `function(user_data)` (zeCommandListAppendHostFunction).

        A thread of the driver's calls it in this process when everything before it is done; what is
        behind it in the list or queue begins when it has returned. It may use the driver, but must
        not wait for what is behind it. What it raises goes to `threading.excepthook`, and the queue
        goes on.
        """
        sync = _sync(signal_event, wait_events)
        call = None if function is None else partial(function, user_data)
        self._driver.run(lambda state: host_function(state, self.target, call, sync, p_next))

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


def _sync(signal: EventHandle | None, waits: Sequence[EventHandle | None]) -> Sync:
    return Sync(None if signal is None else signal.record, tuple(_record(event) for event in waits))


def _record(event: EventHandle | None) -> SyncPoint:
    if event is None:
        raise null_handle("hEvent")
    return event.record
