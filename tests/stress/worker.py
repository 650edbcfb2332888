"""One process of the stress test: it carries out the plan's tasks of its own threads."""

from __future__ import annotations

import ctypes
import json
import sys
import threading
from typing import TYPE_CHECKING, Final

from hostdriver import levelzero as ze
from tests.harness.children import hear, say
from tests.stress.plan import (
    CELL,
    COMMON,
    Bytes,
    Cell,
    Copy,
    Fill,
    Hint,
    Region,
    Scale,
    Task,
    carry_out,
    cells_of,
    first_bytes,
    rounds_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.stress.plan import Box, Command

PATIENCE: Final = 60_000_000_000
"""Nanoseconds after which a wait of the host is a lost signal."""
PAGE: Final = 4096


class Lost(AssertionError):
    """A wait that does not end."""


class Memory:
    """The cells that this process can reach, and what each must hold."""

    def __init__(self, context: ze.Context, device: ze.Device, process: int, scale: Scale) -> None:
        self._context = context
        self._device = device
        self._heaps: list[ctypes.Array[ctypes.c_char]] = []
        self.pointers: dict[Cell, int] = {}
        self.expected: Bytes = {cell: first_bytes(cell) for cell in cells_of(scale)}
        for cell in self.expected:
            if cell.process == process:
                pointer = self.pointers[cell] = self._make(cell.kind)
                first = bytes(self.expected[cell])
                if cell.kind == "heap":
                    ctypes.memmove(pointer, first, CELL)
                else:
                    context.memory_write(pointer, first)

    def handles(self) -> dict[str, str]:
        """Return the handles of this process's common cells, by their names."""
        return {
            json.dumps(cell): self._context.mem_get_ipc_handle(pointer).hex()
            for cell, pointer in self.pointers.items()
            if cell.kind in COMMON
        }

    def open(self, handles: Mapping[str, str]) -> None:
        """Open the cells of all other processes."""
        for name, handle in handles.items():
            cell = Cell(*json.loads(name))
            if cell not in self.pointers:
                self.pointers[cell] = self._context.mem_open_ipc_handle(
                    self._device, bytes.fromhex(handle)
                )

    def differences(self) -> list[str]:
        """Return where the bytes are not those of the oracle, cell by cell."""
        found: list[str] = []
        for cell, pointer in self.pointers.items():
            there, expected = self._load(cell, pointer), self.expected[cell]
            if there != expected:
                at = next(at for at in range(CELL) if there[at] != expected[at])
                found.append(f"{cell} holds {there[at]:#x} at {at:#x}, not {expected[at]:#x}")
        return found

    def _load(self, cell: Cell, pointer: int) -> bytes:
        if cell.kind == "heap":
            return ctypes.string_at(pointer, CELL)
        return self._context.memory_read(pointer, CELL)

    def _make(self, kind: str) -> int:
        if kind == "device":
            return self._context.mem_alloc_device(self._device, CELL)
        if kind == "host":
            return self._context.mem_alloc_host(CELL)
        if kind == "shared":
            return self._context.mem_alloc_shared(CELL, 0, self._device)
        self._heaps.append(ctypes.create_string_buffer(CELL + PAGE))
        return -(-ctypes.addressof(self._heaps[-1]) // PAGE) * PAGE


class Worker:
    """The process."""

    def __init__(self, driver: ze.Driver, process: int, seed: int, scale: Scale) -> None:
        self.device = driver.devices[0]
        self.context = driver.create_context()
        self.process = process
        self.scale = scale
        self.rounds = rounds_of(seed, scale)
        self.memory = Memory(self.context, self.device, process, scale)
        flags = ze.EventPoolFlags.IPC | ze.EventPoolFlags.HOST_VISIBLE
        self.own = self.context.event_pool_create(ze.EventPoolDesc(scale.tasks, flags))
        self.pools = {process: self.own}
        self.events: list[ze.Event] = []
        self.errors: list[str] = []

    def handles(self) -> str:
        """Return all that this process shares."""
        return json.dumps([self.memory.handles(), self.own.get_ipc_handle().hex()])

    def open(self, shared: list[tuple[dict[str, str], str]]) -> None:
        """Open what all processes share."""
        for process, (cells, pool) in enumerate(shared):
            self.memory.open(cells)
            if process != self.process:
                opened = self.context.event_pool_open_ipc_handle(bytes.fromhex(pool))
                self.pools[process] = opened

    def prepare(self, tasks: list[Task]) -> None:
        """Have an event for the end of each task: in the pool of the process that signals it."""
        self.events = [
            self.pools[task.engine.process].event_create(ze.EventDesc(task.number))
            for task in tasks
        ]

    def play(self, tasks: list[Task]) -> None:
        """Let every thread do its tasks of a round; end when all of them are done."""
        threads = [
            threading.Thread(target=self._guard, args=(number, tasks))
            for number in range(self.scale.threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.errors:
            raise Lost("; ".join(self.errors))

    def end_round(self, tasks: list[Task]) -> None:
        """Take the round's events away; the next one makes them anew."""
        for event in self.events:
            event.destroy()
        for task in tasks:
            carry_out(self.memory.expected, task)

    def close(self) -> None:
        """Give everything back."""
        for process, pool in self.pools.items():
            if process != self.process:
                pool.close_ipc_handle()
        self.own.destroy()
        for cell, pointer in self.memory.pointers.items():
            if cell.kind in COMMON and cell.process != self.process:
                self.context.mem_close_ipc_handle(pointer)
            elif cell.kind != "heap":
                self.context.mem_free(pointer)
        self.context.destroy()

    def _guard(self, number: int, tasks: list[Task]) -> None:
        hands = Hands(self, number)
        try:
            for task in tasks:
                if task.engine[:2] == (self.process, number):
                    hands.do(task)
            hands.finish()
        except (ze.ZeError, AssertionError) as error:
            self.errors.append(f"process {self.process}, thread {number}: {error}")


class Hands:
    """One thread: an immediate list, a queue, and the lists that the queue executed."""

    def __init__(self, worker: Worker, number: int) -> None:
        self._worker = worker
        self._context = context = worker.context
        # Threads with odd numbers work on the engines that only copy; every fourth list is one
        # whose appends return when their work is done.
        ordinal = number % 2
        mode = (
            ze.CommandQueueMode.SYNCHRONOUS
            if number % 4 == 1 and worker.process % 2
            else ze.CommandQueueMode.DEFAULT
        )
        desc = ze.CommandQueueDesc(ordinal=ordinal, mode=mode)
        self._list_desc = ze.CommandListDesc(ordinal)
        self._immediate = context.command_list_create_immediate(worker.device, desc)
        self._queue = context.command_queue_create(worker.device, ze.CommandQueueDesc(ordinal))
        self._frames = [self._list(), self._list()]
        """Lists around a recorded one: what it waits for, and its signal."""
        self._recorded: dict[int, ze.CommandList] = {}
        self._counter = context.event_counter_based_create(worker.device)
        self._fence = self._queue.fence_create()

    def do(self, task: Task) -> None:
        """Carry out a task, or have an engine do so."""
        events = self._worker.events
        waits = [events[number] for number in task.waits]
        if task.on_host:
            for number in task.waits:
                self._await(events[number].host_synchronize, f"task {number} of {task.number}")
            waits = []
        if task.engine.number:
            self._execute(task, waits, events[task.number])
        elif task.again >= 0:
            recorded = [self._recorded[task.again]]
            self._immediate.immediate_append_command_lists(recorded, events[task.number], waits)
            # It signals the counter, too; whoever waits for that next waits for this execution.
            self._immediate.append_wait_on_events([self._counter])
        else:
            self._append(self._immediate, task.commands, events[task.number], waits)

    def finish(self) -> None:
        """Return when all is done, and give the thread's objects back."""
        self._await(self._immediate.host_synchronize, "the immediate list")
        self._await(self._queue.synchronize, "the queue")
        self._await(self._counter.host_synchronize, "the counter")
        for made in (*self._frames, *self._recorded.values(), self._immediate):
            made.destroy()
        self._counter.destroy()
        self._fence.destroy()
        self._queue.destroy()

    def _execute(self, task: Task, waits: list[ze.Event], end: ze.Event) -> None:
        """Let the queue execute the task's list, new or recorded before, between two others."""
        before, behind = self._frames
        for frame in (before, behind):
            # What the queue executes of them goes on.
            frame.reset()
        before.append_wait_on_events(waits)
        if task.ending != "host":
            behind.append_signal_event(end)
        for frame in (before, behind):
            frame.close()
        recorded = self._recorded.get(task.again)
        if recorded is None:
            recorded = self._recorded[task.number] = self._list()
            self._append(recorded, task.commands, self._counter, [])
            recorded.close()
        if task.ending != "host":
            self._queue.execute_command_lists([before, recorded, behind])
            return
        self._queue.execute_command_lists([before, recorded, behind], self._fence)
        self._await(self._fence.host_synchronize, f"the fence of task {task.number}")
        self._fence.query_status()
        self._fence.reset()
        self._counter.host_synchronize(PATIENCE)
        end.host_signal()

    def _append(
        self,
        target: ze.CommandList,
        commands: tuple[Command, ...],
        end: ze.Event | ze.CounterEvent,
        waits: list[ze.Event],
    ) -> None:
        last = len(commands) - 1
        for number, command in enumerate(commands):
            signal = end if number == last else None
            self._append_one(target, command, signal, waits if number == 0 else [])

    def _append_one(
        self,
        target: ze.CommandList,
        command: Command,
        signal: ze.Event | ze.CounterEvent | None,
        waits: list[ze.Event],
    ) -> None:
        at = self._worker.memory.pointers
        match command:
            case Copy(to, start, source, source_start, size):
                pointer = at[source] + source_start
                target.append_memory_copy(at[to] + start, pointer, size, signal, waits)
            case Region(to, box, source, source_box, shape):
                target.append_memory_copy_region(
                    at[to],
                    _region(box, shape),
                    box.row,
                    box.slice,
                    at[source],
                    _region(source_box, shape),
                    source_box.row,
                    source_box.slice,
                    signal,
                    waits,
                )
            case Fill(to, start, pattern, size):
                target.append_memory_fill(at[to] + start, pattern, size, signal, waits)
            case Hint("barrier"):
                target.append_barrier(signal, waits)
            case Hint("ranges", to):
                target.append_memory_ranges_barrier([(at[to], CELL)], signal, waits)
            case Hint(what, to):
                target.append_wait_on_events(waits)
                if what == "prefetch":
                    target.append_memory_prefetch(at[to], CELL)
                else:
                    target.append_mem_advise(self._worker.device, at[to], CELL, 0)
                if signal is not None:
                    target.append_signal_event(signal)

    def _list(self) -> ze.CommandList:
        return self._context.command_list_create(self._worker.device, self._list_desc)

    def _await(self, wait: Callable[[int], None], what: str) -> None:
        try:
            wait(PATIENCE)
        except ze.ZeError as error:
            if error.result is not ze.ZeResult.ZE_RESULT_NOT_READY:
                raise
            raise Lost(f"{what} does not end: {error}") from error


def _region(box: Box, shape: tuple[int, int, int]) -> ze.CopyRegion:
    return ze.CopyRegion(*box.origin, *shape)


def main(path: str, process: str, seed: str, *scale: str) -> None:
    """Be the process: tell what is shared, hear what the others share, and play the rounds."""
    with ze.connect(path, start=None) as driver:
        worker = Worker(driver, int(process), int(seed), Scale(*map(int, scale)))
        say(worker.handles())
        worker.open(json.loads(hear()))
        for tasks in worker.rounds:
            worker.prepare(tasks)
            say("prepared")
            assert hear() == "play"
            say(json.dumps(_told(worker, tasks)))
            assert hear() == "next"
            worker.end_round(tasks)
            say("ended")
            assert hear() == "look"
            say(json.dumps(worker.memory.differences()))
            assert hear() == "on"
        worker.close()
        say("closed")
        hear()


def _told(worker: Worker, tasks: list[Task]) -> list[str]:
    try:
        worker.play(tasks)
    except Lost as error:
        return [str(error)]
    return []


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
