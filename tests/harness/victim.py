"""Clients that are killed: random work through the binary contract until SIGKILL comes.

One process imports everything once and forks a victim for each round. A page shared with the test
tells how far the victim is and whether a command of it is in flight.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from firmware.abi.control import (
    Export,
    ExportClose,
    ExportPut,
    ObjectDestroy,
    QueueDestroy,
    SegmentRegister,
    SegmentUnregister,
    SpaceDestroy,
)
from firmware.abi.control_kinds import ObjectFlags, ObjectKind
from firmware.abi.replies import Exported, ObjectCreated
from firmware.abi.work import FenceWait, FenceWrite, WorkFlags
from tests.harness.children import hear, run_function, say
from tests.harness.commands import copy, fill
from tests.harness.process_client import RawClient, RawQueue

if TYPE_CHECKING:
    from firmware.abi._record import Record
    from firmware.abi.replies import Reply
    from firmware.abi.work import WorkCommand

PAGE = 4096
STEPS = 0
"""Word of the shared page: operations begun."""
IN_FLIGHT = 1
"""Word of the shared page: 1 while a command is published and its outcome not yet seen."""
FAILED = 1 << 62
"""Number of steps of a victim that ended by itself, which none does."""
TOKEN = slice(64, 80)
READY = 3
"""Word of the shared page: 1 once the token is there."""
GIFT = 64 << 10
"""Size of the memory that each victim exports for the survivor."""
MIB = 1 << 20


class Page:
    """The page that test and victim share."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), PAGE)
        self.words = memoryview(self.memory).cast("Q")

    def clear(self) -> None:
        self.memory[:] = bytes(PAGE)


class Victim(RawClient):
    """A raw client that tells the page when a command of it is in flight."""

    def __init__(self, path: Path, page: Page) -> None:
        super().__init__(path, "victim")
        self.page = page

    def call(self, command: Record) -> Reply:
        self.page.words[IN_FLIGHT] = 1
        reply = super().call(command)
        self.page.words[IN_FLIGHT] = 0
        return reply

    def work(self, queue: RawQueue, *commands: WorkCommand) -> None:
        self.page.words[IN_FLIGHT] = 1
        if not queue.run(*commands):
            queue.recover()
        self.page.words[IN_FLIGHT] = 0


class Life:
    """What one victim does: a random walk over every operation of the contract."""

    def __init__(self, client: Victim, chance: random.Random) -> None:
        self.client = client
        self.chance = chance
        self.vmid = client.space()
        self.queue = client.queue(self.vmid)
        self.next_va = 1 << 32
        self.mapped: list[tuple[int, int, int]] = []
        """va, size, object"""
        self.imported: list[mmap.mmap] = []
        """Pages that stay registered, and must therefore stay where they are."""

    def give(self, seed: int) -> None:
        """Export memory that the survivor may open."""
        client = self.client
        va = self.place(client.vram(GIFT), GIFT)
        client.work(self.queue, fill(va, GIFT, seed & 0xFF))
        token = self.export(va, GIFT).token
        # Nothing else is ever written there.
        self.mapped.clear()
        for _ in range(2):
            self.place(client.vram(2 * MIB), 2 * MIB)
        client.page.memory[TOKEN] = token
        client.page.words[READY] = 1

    def place(self, object_id: int, size: int) -> int:
        va, self.next_va = self.next_va, self.next_va + (size | (4 * MIB - 1)) + 1
        self.client.map(self.vmid, va, size, object_id)
        self.mapped.append((va, size, object_id))
        return va

    def export(self, va: int, size: int) -> Exported:
        command = Export(request=self.client.number(), vmid=self.vmid, va=va, size_bytes=size)
        return self.client.expect(Exported, command)

    def step(self) -> None:
        """Do one random thing."""
        self.client.page.words[STEPS] += 1
        choices = (
            self.allocate,
            self.allocate_system,
            self.copy_much,
            self.copy_much,
            self.copy_much,
            self.free,
            self.fault,
            self.share_with_itself,
            self.import_pages,
            self.hold_a_ring,
            self.second_space,
        )
        self.chance.choice(choices)()

    def allocate(self) -> None:
        size = self.chance.choice((PAGE, 64 << 10, MIB, 4 * MIB))
        self.place(self.client.vram(size), size)

    def allocate_system(self) -> None:
        size = self.chance.choice((PAGE, 256 << 10))
        object_id, mapping = self.client.system(size)
        self.place(object_id, size)
        mapping.close()

    def copy_much(self) -> None:
        """Copy megabytes, several commands at once, so that chunks are in flight."""
        while len(self.mapped) < 3:
            self.place(self.client.vram(2 * MIB), 2 * MIB)
        pairs = [self.chance.sample(self.mapped, 2) for _ in range(4)]
        commands = [copy(a[0], b[0], min(a[1], b[1])) for a, b in pairs]
        self.client.work(self.queue, *commands)

    def free(self) -> None:
        """Unmap and destroy something while a copy of it may still run."""
        if len(self.mapped) < 3:
            return
        va, size, object_id = self.mapped.pop(self.chance.randrange(1, len(self.mapped)))
        other = self.mapped[-1]
        self.queue.submit(copy(va, other[0], min(size, other[1])))
        self.client.unmap(self.vmid, va, size)
        self.client.call(ObjectDestroy(request=self.client.number(), object_id=object_id))
        if not self.queue.wait():
            self.queue.recover()

    def fault(self) -> None:
        self.client.work(self.queue, copy(0x1000, self.mapped[0][0], 64))
        self.client.faults()

    def share_with_itself(self) -> None:
        va, size, _ = self.mapped[0]
        exported = self.export(va + 100, size - 200)
        target, self.next_va = self.next_va, self.next_va + 8 * MIB
        opened = self.client.open(
            self.vmid, exported.token, target, size - 200, exported.window_offset
        )
        number = self.client.number
        self.client.call(ExportPut(request=number(), token=exported.token))
        if self.chance.random() < 0.5:
            self.client.call(ExportClose(request=number(), import_id=opened.import_id))

    def import_pages(self) -> None:
        """Let the device reach pages of this process."""
        memory = mmap.mmap(-1, 16 * PAGE)
        self.imported.append(memory)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        command = SegmentRegister(
            request=self.client.number(),
            kind=ObjectKind.CLIENT_PAGES,
            flags=ObjectFlags.NONE,
            address=address,
            size_bytes=16 * PAGE,
        )
        created = self.client.expect(ObjectCreated, command)
        va = self.next_va
        self.next_va += 4 * MIB
        self.client.map(self.vmid, va, 16 * PAGE, created.object_id)
        self.client.work(self.queue, copy(self.mapped[0][0], va, 16 * PAGE))
        if self.chance.random() < 0.5:
            self.client.unmap(self.vmid, va, 16 * PAGE)
            number = self.client.number()
            self.client.call(SegmentUnregister(request=number, object_id=created.object_id))

    def hold_a_ring(self) -> None:
        """Leave a queue waiting for a fence that another queue writes later, or never."""
        holding = self.client.queue(self.vmid, 16)
        slot = self.chance.randrange(8)
        value = self.client.page.words[STEPS]
        none = WorkFlags.NONE
        holding.submit(FenceWait(flags=none, tag=0, pool=0, slot=slot, value=value))
        if self.chance.random() < 0.5:
            write = FenceWrite(flags=none, tag=0, pool=0, slot=slot, value=value)
            self.client.work(self.queue, write)
            holding.wait()
        number = self.client.number()
        self.client.call(QueueDestroy(request=number, queue_id=holding.created.queue_id))

    def second_space(self) -> None:
        vmid = self.client.space()
        self.client.map(vmid, 1 << 40, GIFT, self.mapped[0][2])
        if self.chance.random() < 0.5:
            self.client.call(SpaceDestroy(request=self.client.number(), vmid=vmid))


def live(path: Path, page: Page, seed: int) -> None:
    """Be a victim until killed."""
    page.clear()
    life = Life(Victim(path, page), random.Random(seed))
    life.give(seed)
    while True:
        life.step()


def breed(path: str, page_path: str) -> None:
    """Fork a victim for each `seed` line; collect it for each `reap` line."""
    page = Page(Path(page_path))
    pid = 0
    while line := hear():
        if line == "reap":
            _, status = os.waitpid(pid, 0)
            say(os.waitstatus_to_exitcode(status))
            continue
        pid = os.fork()
        if not pid:
            try:
                live(Path(path), page, int(line))
            except BaseException as error:  # noqa: BLE001 - the test has to hear of it
                sys.stderr.write(f"victim {line}: {error!r}\n")
                # Whoever waits for progress shall come and find the exit status.
                page.words[STEPS] = FAILED
                page.words[READY] = 1
                os._exit(1)
        say(pid)


if __name__ == "__main__":
    run_function({"breed": breed})
