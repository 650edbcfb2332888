"""A program that shares events, in a process of its own; a test tells it what to do."""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hostdriver import levelzero as ze
from tests.harness.children import child, obey
from tests.harness.events import Target

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.harness.children import Child

BACKLOG = 1_000
"""Commands that no ring takes at once."""
SHARED = ze.EventPoolDesc(8, ze.EventPoolFlags.IPC | ze.EventPoolFlags.HOST_VISIBLE)


class EventProgram:
    """The program, seen from the test."""

    def __init__(self, process: Child) -> None:
        self.process = process
        assert process.hear() == "ready"

    def begin(self, function: str, *arguments: int | str) -> None:
        """Have a function of `Actions` called, and do not wait for it."""
        self.process.say(json.dumps([function, *arguments]))

    def end(self) -> str:
        """Return the result of what was begun, or the name of its error."""
        return str(json.loads(self.process.hear()))

    def do(self, function: str, *arguments: int | str) -> str:
        """Have a function called and return its result."""
        self.begin(function, *arguments)
        return self.end()


@contextmanager
def event_program(path: Path) -> Generator[EventProgram]:
    """Run a program on the emulator at `path`."""
    with child("tests.harness.event_program", "main", path) as process:
        yield EventProgram(process)


class Actions:
    """What the program can do."""

    def __init__(self, driver: ze.Driver) -> None:
        self.context = driver.create_context()
        self.events: list[ze.Event] = []
        self.queue = Target(self.context)
        self.commands = self.context.command_list_create_immediate(driver.devices[0])
        self.pool: ze.EventPool | None = None
        self.device = driver.devices[0]
        self.counters: list[ze.CounterEvent] = []

    def make(self) -> str:
        """Make a shared pool with all its events; return its handle."""
        pool = self.context.event_pool_create(SHARED)
        self._fill(pool)
        return pool.get_ipc_handle().hex()

    def open(self, handle: str) -> str:
        self._fill(self.context.event_pool_open_ipc_handle(bytes.fromhex(handle)))
        return "ok"

    def _fill(self, pool: ze.EventPool) -> None:
        self.pool = pool
        self.events = [pool.event_create(ze.EventDesc(index)) for index in range(8)]

    def signal(self, index: int) -> str:
        self.events[index].host_signal()
        return "ok"

    def reset(self, index: int) -> str:
        self.events[index].host_reset()
        return "ok"

    def wait(self, index: int) -> str:
        """Wait for ever."""
        self.events[index].host_synchronize()
        return "ok"

    def queue_signals(self, index: int) -> str:
        self.queue.signal(self.events[index])
        return "ok"

    def queue_waits(self, index: int) -> str:
        self.queue.wait(self.events[index])
        return "ok"

    def list_signals(self, index: int) -> str:
        self.commands.append_signal_event(self.events[index])
        return "ok"

    def list_waits(self, index: int) -> str:
        self.commands.append_wait_on_events([self.events[index]])
        return "ok"

    def list_backlog(self) -> str:
        """Append more than a ring takes."""
        for _ in range(BACKLOG):
            self.commands.append_barrier()
        return "ok"

    def list_synchronize(self) -> str:
        self.commands.host_synchronize()
        return "ok"

    def destroy_event(self, index: int) -> str:
        self.events[index].destroy()
        return "ok"

    def destroy_pool(self) -> str:
        assert self.pool is not None
        self.pool.destroy()
        return "ok"

    def close_pool(self) -> str:
        assert self.pool is not None
        self.pool.close_ipc_handle()
        return "ok"

    def counter_make(self) -> str:
        """Make a counting event whose next signal comes from the list; return its handle."""
        desc = ze.EventCounterBasedDesc(ze.EventCounterBasedFlags.IPC)
        counter = self.context.event_counter_based_create(self.device, desc)
        self.counters.append(counter)
        self.commands.append_signal_event(counter)
        return counter.counter_based_get_ipc_handle().hex()

    def counter_open(self, handle: str) -> str:
        opened = self.context.event_counter_based_open_ipc_handle(bytes.fromhex(handle))
        self.counters.append(opened)
        return "ok"

    def counter_wait(self) -> str:
        self.counters[-1].host_synchronize()
        return "ok"

    def counter_list_waits(self) -> str:
        self.commands.append_wait_on_events([self.counters[-1]])
        return "ok"

    def counter_sleepers(self) -> str:
        return self._await_sleepers(self.counters[-1])

    def counter_close(self) -> str:
        self.counters[-1].counter_based_close_ipc_handle()
        return "ok"

    def counter_destroy(self) -> str:
        self.counters[-1].destroy()
        return "ok"

    def cost_of_wait(self, index: int) -> str:
        """Wait for ever; return seconds on the processor and seconds that it took."""
        wall, cpu = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
        self.events[index].host_synchronize()
        wall, now = time.monotonic() - wall, resource.getrusage(resource.RUSAGE_SELF)
        return json.dumps([now.ru_utime + now.ru_stime - cpu.ru_utime - cpu.ru_stime, wall])

    def wait_at_most(self, index: int, milliseconds: int) -> str:
        self.events[index].host_synchronize(milliseconds * 1_000_000)
        return "ok"

    def answer(self, count: int) -> str:
        """Answer so many signals of event 0 with event 1."""
        ping, pong = self.events[0], self.events[1]
        for _ in range(count):
            ping.host_synchronize()
            ping.host_reset()
            pong.host_signal()
        return "ok"

    def ask(self, count: int) -> str:
        """Signal event 0 so many times, each time when the last signal was answered."""
        ping, pong = self.events[0], self.events[1]
        for _ in range(count):
            ping.host_signal()
            pong.host_synchronize()
            pong.host_reset()
        return "ok"

    def sleepers(self, index: int) -> str:
        """Wait until a thread of another process sleeps on an event."""
        return self._await_sleepers(self.events[index])

    def _await_sleepers(self, event: ze.Event | ze.CounterEvent) -> str:
        slot = event.record.slot
        memory = slot.pool.memory
        words = memory._u32  # type: ignore[attr-defined]
        while not words[(slot.index * 128 + 12) >> 2]:
            pass
        return "ok"

    def device_waits(self, index: int) -> str:
        """Wait until a queue of any process waits for an event."""
        slot = self.events[index].record.slot
        while not slot.pool.memory.load(slot.index).device_waits:
            pass
        return "ok"


def main(path: str) -> None:
    """Be the program."""
    with ze.connect(path, start=None) as driver:
        obey(Actions(driver))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
