"""Large copies in flight while everything around them is unmapped, destroyed, reset and killed.

Whatever happens, no byte that a chunk in flight writes lands in memory that somebody else was
given since, and when the last chunk is done everything is back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from device.core.engine.large import INLINE_BYTES
from device.core.spec import DeviceSpec
from firmware.abi.control import (
    ControlCommand,
    ExportClose,
    ObjectDestroy,
    ObjectKind,
    QueueDestroy,
    QueueReset,
    Unmap,
)
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.work import Copy, Fill, WorkFlags
from tests.harness.devicepair import SMALL_IMAGE, DevicePair

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawClient, RawQueue

SIZE = INLINE_BYTES + (64 << 10)
VRAM = 7 * SIZE
VA = 1 << 30
SLOTS = 4
NONE = WorkFlags.NONE
MARK = 0xA5


@dataclass
class Actor:
    """A client that copies between slots of its address space, each an object or an import."""

    raw: RawClient
    vmid: int
    queues: list[RawQueue] = field(default_factory=list)
    objects: dict[int, int] = field(default_factory=dict)
    imports: dict[int, int] = field(default_factory=dict)

    def va(self, slot: int) -> int:
        return VA + slot * SIZE

    def mapped(self, pick: int) -> int:
        """Return the address of one of the slots that show something, if any does."""
        slots = sorted(self.objects | self.imports) or [0]
        return self.va(slots[pick % len(slots)])


picks = st.integers(0, 3)


class FlightMachine(RuleBasedStateMachine):
    @initialize()
    def power_up(self) -> None:
        spec = DeviceSpec(vram_size=VRAM, chunk_bytes=1 << 19)
        self.pair = DevicePair(spec, image=SMALL_IMAGE)
        self.pair.hold_chunks = True
        self.actors: list[Actor] = []

    def send(self, actor: Actor, command: ControlCommand) -> None:
        """Send a command whose reply may have to wait; nobody reads it."""
        actor.raw.send(command.pack())
        self.pair.step()
        actor.raw.replies()

    @precondition(lambda self: len(self.actors) < 3)
    @rule(kind=st.sampled_from([ObjectKind.VRAM, ObjectKind.SYSTEM]))
    def attach(self, kind: ObjectKind) -> None:
        raw = self.pair.attach()
        actor = Actor(raw, raw.space())
        actor.queues.append(raw.queue(actor.vmid))
        for slot in range(2):
            if self.pair.device.memory.free_bytes < SIZE + (1 << 20):
                break
            actor.objects[slot] = raw.object(SIZE, kind)
            raw.map(actor.vmid, actor.va(slot), SIZE, actor.objects[slot])
        self.actors.append(actor)

    @precondition(lambda self: self.actors)
    @rule(pick=picks, source=picks, destination=picks, fills=st.booleans())
    def move(self, pick: int, source: int, destination: int, fills: bool) -> None:
        actor = self.actors[pick % len(self.actors)]
        if not actor.queues:
            if self.pair.chunks:
                # Replies that wait would come with the one that is waited for.
                return
            actor.raw.replies()
            actor.queues.append(actor.raw.queue(actor.vmid))
        if fills:
            command = Fill(
                flags=NONE,
                tag=0,
                destination=actor.mapped(destination),
                size_bytes=SIZE,
                pattern=bytes([MARK]).ljust(16, b"\0"),
                pattern_size=1,
            )
            actor.raw.submit(actor.queues[-1], command)
        else:
            copy = Copy(
                flags=NONE,
                tag=0,
                source=actor.mapped(source),
                destination=actor.mapped(destination),
                size_bytes=SIZE,
            )
            actor.raw.submit(actor.queues[-1], copy)
        self.pair.step()

    @precondition(lambda self: self.pair.chunks)
    @rule(pick=picks)
    def finish_one(self, pick: int) -> None:
        self._run(pick % len(self.pair.chunks))

    @precondition(lambda self: self.actors)
    @rule(pick=picks, slot=picks)
    def unmap_and_destroy(self, pick: int, slot: int) -> None:
        actor = self.actors[pick % len(self.actors)]
        raw = actor.raw
        if actor.objects:
            slot = sorted(actor.objects)[slot % len(actor.objects)]
        unmap = Unmap(request=raw.request(), vmid=actor.vmid, va=actor.va(slot), size_bytes=SIZE)
        self.send(actor, unmap)
        number = actor.objects.pop(slot, None)
        if number is not None:
            self.send(actor, ObjectDestroy(request=raw.request(), object_id=number))

    @precondition(lambda self: len(self.actors) > 1)
    @rule(pick=picks, slot=st.integers(0, 1))
    def share(self, pick: int, slot: int) -> None:
        """Let the next client open what this one has, in a slot of its own."""
        actor = self.actors[pick % len(self.actors)]
        other = self.actors[(pick + 1) % len(self.actors)]
        if slot not in actor.objects or slot + 2 in other.imports or actor is other:
            return
        actor.raw.replies()
        other.raw.replies()
        if self.pair.chunks:
            return
        exported = actor.raw.export(actor.vmid, actor.va(slot), SIZE)
        other.raw.unmap(other.vmid, other.va(slot + 2), SIZE)
        opened = other.raw.open(other.vmid, exported, other.va(slot + 2))
        other.imports[slot + 2] = opened.import_id

    @precondition(lambda self: self.actors)
    @rule(pick=picks, slot=st.integers(2, 3))
    def close(self, pick: int, slot: int) -> None:
        actor = self.actors[pick % len(self.actors)]
        number = actor.imports.pop(slot, None)
        if number is not None:
            self.send(actor, ExportClose(request=actor.raw.request(), import_id=number))

    @precondition(lambda self: self.actors)
    @rule(pick=picks, destroys=st.booleans())
    def end_queue(self, pick: int, destroys: bool) -> None:
        actor = self.actors[pick % len(self.actors)]
        if not actor.queues:
            return
        request = actor.raw.request()
        if destroys:
            queue = actor.queues.pop()
            self.send(actor, QueueDestroy(request=request, queue_id=queue.queue_id))
        else:
            self.send(actor, QueueReset(request=request, queue_id=actor.queues[-1].queue_id))
            # What it does with its ring before the answer is its own affair.
            actor.queues[-1].tail = 0

    @precondition(lambda self: self.actors)
    @rule(pick=picks)
    def die(self, pick: int) -> None:
        self.pair.detach(self.actors.pop(pick % len(self.actors)).raw)
        self.pair.step()

    @rule()
    def reset(self) -> None:
        self.pair.device.reset(self.pair.now)
        self.pair.step()
        for actor in self.actors:
            self.pair.detach(actor.raw)
        self.actors.clear()

    @rule()
    def nobody_is_given_memory_that_is_still_written(self) -> None:
        """Take all memory that is free, and let the chunks run: it must stay as it was given."""
        raw = self.pair.attach()
        free = self.pair.device.memory.free_bytes
        if free:
            raw.object(free)
        state = self.pair.device._state.clients[raw.client_id]
        array = self.pair.device.memory.array
        given = [
            array[first * PAGE_SIZE : (first + count) * PAGE_SIZE]
            for item in state.objects.values()
            for first, count in item.runs
        ]
        assert not any(frames.any() for frames in given)
        while self.pair.chunks:
            self._run(0)
        assert not any(frames.any() for frames in given)
        self.pair.detach(raw)
        self.pair.step()

    @invariant()
    def the_device_is_sound(self) -> None:
        self.pair.device.check()

    def _run(self, index: int) -> None:
        chunk = self.pair.chunks.pop(index)
        chunk.run()
        self.pair.device.chunk_done(chunk, self.pair.now)
        self.pair.step()

    def teardown(self) -> None:
        for actor in self.actors:
            self.pair.detach(actor.raw)
        self.pair.step()
        self.pair.finish_chunks()
        self.pair.device.check()
        assert self.pair.device.memory.free_bytes == VRAM
        assert self.pair.system_memory.open_files == []


TestFlights = FlightMachine.TestCase
TestFlights.settings = settings(stateful_step_count=30)
