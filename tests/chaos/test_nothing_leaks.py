"""Invariant: no client ever reads what another wrote, save through an export that it opened.

Every client writes one byte of its own, in all ways there are, also while it gives memory up, has
chunks in flight or dies. New memory holds zeros or the byte of whoever gets it.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

import pytest

from device.core.memory.ownership import FrameOwners
from device.core.paging import walk
from device.core.spec import DeviceSpec
from firmware.abi.control import Export, ExportClose, ExportPut, ObjectCreate, ObjectDestroy, Unmap
from firmware.abi.control_kinds import ObjectFlags, ObjectKind
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.paging import FRAME_MASK
from firmware.abi.replies import Exported, Mapped, ObjectCreated, Opened
from tests.harness.commands import copy, fill
from tests.harness.devicepair import SMALL_IMAGE, DevicePair

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from firmware.abi.control import ControlCommand
    from firmware.abi.replies import Reply
    from firmware.abi.work import WorkCommand
    from tests.harness.stepped_client import RawClient

VRAM: Final = 8 << 20
PAGES: Final = (1, 1, 3, 16, 64, 512, 600)
"""Sizes of objects; the largest are filled in chunks."""
STEPS: Final = 300


class Writer:
    """A client that writes nothing but its own byte."""

    def __init__(self, world: World, byte: int) -> None:
        self.world = world
        self.byte = byte
        self.client: RawClient = world.pair.attach()
        self.vmid = self.client.space()
        self.queue = self.client.queue(self.vmid)
        self.next_va = 1 << 32
        self.own: dict[int, tuple[int, int]] = {}
        """Size and object by address."""
        self.opened: dict[int, tuple[int, int]] = {}
        """Size and import by address."""
        self.exports: list[Exported] = []
        self.shared: set[int] = set()
        """Addresses of own memory that was exported: others' bytes may stand there rightfully."""

    def ask(self, command: ControlCommand) -> Reply | None:
        """Return the reply; None while it waits for a chunk in flight."""
        self.client.send(command.pack())
        self.world.pair.step()
        replies = self.client.replies()
        return next((r for r in replies if r.request == command.request), None)

    def work(self, *commands: WorkCommand) -> None:
        """Submit commands, while there is room in the ring."""
        done = self.client.header(self.queue.header).completed
        if self.queue.tail + len(commands) - done <= self.queue.entry_count:
            self.client.submit(self.queue, *commands)
            self.world.pair.step()

    def place(self) -> int:
        va, self.next_va = self.next_va, self.next_va + (4 << 20)
        return va

    # What it can do.

    def allocate(self) -> None:
        size = self.world.chance.choice(PAGES) * PAGE_SIZE
        command = ObjectCreate(
            request=self.client.request(),
            kind=ObjectKind.VRAM,
            flags=ObjectFlags.NONE,
            size_bytes=size,
            page_size=0,
        )
        created = self.ask(command)
        if not isinstance(created, ObjectCreated):
            return
        va = self.place()
        mapped = self.ask(self.client.map_command(self.vmid, va, size, created.object_id))
        if not isinstance(mapped, Mapped):
            self.client.destroy(created.object_id)
            return
        assert not self.world.strange(self, va, size)
        self.own[va] = size, created.object_id

    def fill(self) -> None:
        va, (size, _) = self.world.one_of(self.own)
        self.work(fill(va, size, self.byte))

    def copy(self) -> None:
        """Copy what nobody else could write: bytes of others, once copied, would be its own."""
        (a, (size, _)), (b, (other, _)) = self.world.one_of(self.own), self.world.one_of(self.own)
        if {a, b}.isdisjoint(self.shared):
            self.work(copy(a, b, min(size, other)))

    def free(self) -> None:
        """Give memory up, perhaps with a store to it in flight."""
        va, (size, object_id) = self.world.one_of(self.own)
        if self.world.chance.random() < 0.5:
            self.work(fill(va, size, self.byte))
        del self.own[va]
        request = self.client.request
        self.ask(Unmap(request=request(), vmid=self.vmid, va=va, size_bytes=size))
        self.ask(ObjectDestroy(request=request(), object_id=object_id))

    def export(self) -> None:
        va, (size, _) = self.world.one_of(self.own)
        command = Export(request=self.client.request(), vmid=self.vmid, va=va, size_bytes=size)
        exported = self.ask(command)
        if isinstance(exported, Exported):
            self.exports.append(exported)
            self.shared.add(va)

    def put(self) -> None:
        exported = self.exports.pop()
        self.ask(ExportPut(request=self.client.request(), token=exported.token))

    def open(self) -> None:
        exports = [item for writer in self.world.writers for item in writer.exports]
        va = self.place()
        exported = self.world.chance.choice(exports)
        opened = self.ask(self.client.open_command(self.vmid, exported, va))
        if isinstance(opened, Opened):
            self.opened[va] = exported.size_bytes, opened.import_id

    def write_opened(self) -> None:
        va, (size, _) = self.world.one_of(self.opened)
        self.work(fill(va, size, self.byte))

    def close(self) -> None:
        """Close an import, perhaps with a store to it in flight."""
        va, (size, import_id) = self.world.one_of(self.opened)
        if self.world.chance.random() < 0.5:
            self.work(fill(va, size, self.byte))
        del self.opened[va]
        self.ask(ExportClose(request=self.client.request(), import_id=import_id))

    def die(self) -> None:
        if self.own:
            self.fill()
        self.world.replace(self)


class World:
    """A device with three writers."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.pair = DevicePair(DeviceSpec(vram_size=VRAM, chunk_bytes=1 << 20), image=SMALL_IMAGE)
        self.bytes = itertools.count(1)
        self.writers = [Writer(self, next(self.bytes)) for _ in range(3)]

    def one_of(self, places: dict[int, tuple[int, int]]) -> tuple[int, tuple[int, int]]:
        return self.chance.choice(list(places.items()))

    def replace(self, writer: Writer) -> None:
        self.pair.detach(writer.client)
        self.pair.step()
        self.writers[self.writers.index(writer)] = Writer(self, next(self.bytes))

    def strange(self, writer: Writer, va: int, size: int) -> bytes:
        """Return the bytes in mapped memory that are neither zero nor the writer's.

        They are read behind the engines' back.
        """
        device = self.pair.device
        root = device._state.clients[writer.client.client_id].spaces[writer.vmid].space.tables.root
        found = b""
        for page in range(va, va + size, PAGE_SIZE):
            address = walk(device.memory, root, page).page & FRAME_MASK
            content = bytes(self.pair.vram[address : address + PAGE_SIZE])
            found += content.translate(None, bytes((0, writer.byte)))
        return found

    def step(self) -> None:
        """Let one of the writers do something, or the device."""
        self.pair.hold_chunks = self.chance.random() < 0.5
        writer = self.chance.choice(self.writers)
        actions: list[Callable[[], object]] = [
            *[writer.allocate] * 5,
            self.pair.finish_chunks,
            lambda: self.pair.device.scrub(self.chance.choice((PAGE_SIZE, 1 << 20))),
        ]
        if writer.own:
            actions += [writer.fill, writer.fill, writer.copy, writer.copy, writer.free]
            actions += [writer.free, writer.export]
        if writer.exports:
            actions += [writer.put]
        if any(other.exports for other in self.writers):
            actions += [writer.open, writer.open]
        if writer.opened:
            actions += [writer.write_opened, writer.write_opened, writer.close]
        if self.chance.random() < 0.05:
            actions = [writer.die]
        if self.chance.random() < 0.01:
            actions = [self.reset]
        self.chance.choice(actions)()

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.step()

    def reset(self) -> None:
        self.pair.device.reset(self.pair.now)
        self.pair.step()
        for writer in list(self.writers):
            self.replace(writer)

    def end(self) -> None:
        """Check that everything is there once everybody has gone."""
        self.pair.finish_chunks()
        for writer in self.writers:
            self.pair.detach(writer.client)
        self.pair.step()
        self.pair.device.check()
        assert self.pair.device.statistics().free_bytes == VRAM


@pytest.mark.parametrize("worlds", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_new_memory_holds_nobody_elses_bytes(chance: random.Random, worlds: int) -> None:
    for _ in range(worlds):
        world = World(chance)
        world.steps(STEPS)
        world.pair.device.check()
        world.end()


def test_a_leak_would_be_seen(chance: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(chance)
    monkeypatch.setattr(FrameOwners, "_scrub", lambda *_: None)

    with pytest.raises(AssertionError):
        world.steps(10 * STEPS)
