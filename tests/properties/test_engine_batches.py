"""Lists of commands at once, one by one, and in plain Python: the same memory, the same fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import hypothesis.strategies as st
from hypothesis import example, given

from firmware.abi.ids import PAGE_SIZE, Access, Rights
from firmware.abi.paging import leaf_entry
from firmware.abi.work import Copy, FenceWrite, WorkCommand, WorkFlags
from tests.harness.engine import (
    Lane,
    Rig,
    RigClient,
    copy,
    fill,
    make_spec,
    nop,
    signal,
    store,
    wait_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = 0x10_0000
PAGES = 24
KINDS = ("plain", "plain", "plain", "plain", "alias", "read only", "null", "hole")


class Layout(NamedTuple):
    """What stands behind each page of the arena."""

    kinds: tuple[str, ...]
    scattered: bool


class World:
    """One device with the arena mapped, and one queue."""

    def __init__(self, layout: Layout) -> None:
        self.rig = Rig(make_spec(vram_size=1 << 20))
        self.client: RigClient = self.rig.client()
        step = 2 if layout.scattered else 1
        first = self.rig.memory.allocate(PAGES * step * PAGE_SIZE, owner=1)[0].first
        self.frames = [(first + number * step) * PAGE_SIZE for number in range(PAGES)]
        for number, kind in enumerate(layout.kinds):
            self._map(number, kind)
        for number, frame in enumerate(self.frames):
            self.rig.memory.local.write(frame, bytes([number + 1]) * PAGE_SIZE)
        self.lane: Lane = self.client.queue(entries=256)

    def _map(self, number: int, kind: str) -> None:
        rights = Rights.READ if kind == "read only" else Rights.READ | Rights.WRITE
        # An alias shows the frame of the page two before it.
        frame = self.frames[number - 2 if kind == "alias" else number]
        entry = leaf_entry(0, rights, null=True) if kind == "null" else leaf_entry(frame, rights)
        if kind != "hole":
            self.client.space.tables.map_one(BASE + number * PAGE_SIZE, PAGE_SIZE, entry)

    def outcome(self) -> tuple[object, ...]:
        """Return everything that must not depend on how the commands came."""
        records = [
            (record.seqno, record.va, record.reason, record.access, record.tag, record.opcode)
            for record in self.client.faults()
        ]
        header = self.lane.header
        traffic = self.rig.memory.statistics().traffic
        return (
            b"".join(self.rig.memory.view[frame : frame + PAGE_SIZE] for frame in self.frames),
            (header.completed, header.state, header.status, header.completion_status),
            records,
            [self.client.slot(number).value for number in range(4)],
            (traffic.bytes_read, traffic.bytes_written, self.lane.queue.bytes_moved),
            self.rig.scheduler.statistics().commands,
        )


class Oracle:
    """The arena in plain Python."""

    def __init__(self, layout: Layout) -> None:
        self.kinds = layout.kinds
        self.frames = [bytearray([number + 1]) * PAGE_SIZE for number in range(PAGES)]

    def _pieces(self, va: int, size: int) -> Iterator[tuple[bytearray | None, int, int]]:
        """Yield frame (None: null), offset in it and size of what each page has of a range."""
        while size:
            number, offset = divmod(va - BASE, PAGE_SIZE)
            kind = self.kinds[number]
            part = min(size, PAGE_SIZE - offset)
            frame = self.frames[number - 2 if kind == "alias" else number]
            yield (None if kind == "null" else frame), offset, part
            va += part
            size -= part

    def first_fault(self, va: int, size: int, access: Access) -> int | None:
        pages = range((va // PAGE_SIZE + 1) * PAGE_SIZE, va + size, PAGE_SIZE)
        at: int
        for at in (va, *pages):
            number = (at - BASE) // PAGE_SIZE
            kind = self.kinds[number] if 0 <= number < PAGES else "hole"
            if kind == "hole" or (kind == "read only" and access is Access.WRITE):
                return at
        return None

    def copy(self, source: int, destination: int, size: int) -> tuple[int, Access] | None:
        """Copy as memmove does, or return where it faults."""
        if not size:
            return None
        for va, access in ((source, Access.READ), (destination, Access.WRITE)):
            fault = self.first_fault(va, size, access)
            if fault is not None:
                return fault, access
        data = b"".join(
            bytes(part) if frame is None else frame[offset : offset + part]
            for frame, offset, part in self._pieces(source, size)
        )
        for frame, offset, part in self._pieces(destination, size):
            if frame is not None:
                frame[offset : offset + part] = data[:part]
            data = data[part:]
        return None


addresses = st.integers(BASE, BASE + PAGES * PAGE_SIZE - 1)
sizes = st.sampled_from([0, 1, 8, 100, 4095, 4096, 4097, 9000, 20_000])
aligned = st.integers(0, PAGES - 1).map(lambda number: BASE + number * PAGE_SIZE)
copies = st.one_of(
    st.builds(copy, addresses, addresses, sizes, tag=st.integers(0, 9)),
    st.builds(copy, aligned, aligned, st.just(PAGE_SIZE)),
    st.builds(copy, aligned, aligned, st.just(64), st.just(WorkFlags.INTERRUPT)),
)
layouts = st.builds(
    Layout,
    st.lists(st.sampled_from(KINDS), min_size=PAGES, max_size=PAGES).map(
        # The first two pages have nobody before them.
        lambda kinds: ("plain", "plain", *kinds[2:])
    ),
    st.booleans(),
)
plain_layout = Layout(("plain",) * PAGES, scattered=False)
others: st.SearchStrategy[WorkCommand | bytes] = st.one_of(
    st.builds(signal, st.integers(0, 3), st.integers(0, 9)),
    st.builds(signal, st.integers(0, 20), st.integers(0, 9)),
    st.builds(store, addresses.map(lambda va: va & ~7), st.integers(0, 1 << 64 - 1)),
    st.builds(fill, addresses, st.integers(0, 5000), st.sampled_from([b"x", b"pqrs"])),
    st.just(nop(3)),
    st.binary(min_size=64, max_size=64),
)


def run_one_by_one(layout: Layout, commands: list[WorkCommand | bytes]) -> tuple[object, ...]:
    world = World(layout)
    for command in commands:
        world.lane.submit(command)
        world.rig.run()
    assert world.rig.scheduler.statistics().batched == 0
    return world.outcome()


def run_at_once(layout: Layout, commands: list[WorkCommand | bytes]) -> World:
    world = World(layout)
    world.lane.submit(*commands)
    world.rig.run()
    return world


@given(
    layout=layouts,
    commands=st.lists(st.one_of(copies, copies, copies, others), min_size=24, max_size=70),
)
def test_commands_at_once_and_one_by_one_have_the_same_outcome(
    layout: Layout, commands: list[WorkCommand | bytes]
) -> None:
    assert run_at_once(layout, commands).outcome() == run_one_by_one(layout, commands)


@given(layout=layouts, commands=st.lists(copies, min_size=24, max_size=60))
@example(
    # Each copy reads what the one before it wrote.
    layout=plain_layout,
    commands=[
        copy(BASE + index % 20 * 4096, BASE + (index + 1) % 20 * 4096, 4096) for index in range(60)
    ],
)
def test_batch_of_copies_is_what_plain_python_does(layout: Layout, commands: list[Copy]) -> None:
    world = run_at_once(layout, list(commands))
    oracle = Oracle(layout)

    completed = 0
    fault = None
    for command in commands:
        fault = oracle.copy(command.source, command.destination, command.size_bytes)
        if fault is not None:
            break
        completed += 1

    assert world.lane.completed == completed
    assert [(record.va, record.access) for record in world.client.faults()] == (
        [] if fault is None else [fault]
    )
    for frame, expected in zip(world.frames, oracle.frames, strict=True):
        assert world.rig.memory.view[frame : frame + PAGE_SIZE] == expected


def test_plain_copies_do_go_through_the_batch() -> None:
    commands: list[WorkCommand | bytes] = []
    for index in range(60):
        commands.append(copy(BASE + index % 24 * 4096, BASE + (index + 7) % 24 * 4096, 4096))
        if index % 10 == 9:
            commands.append(signal(0, index))

    world = run_at_once(plain_layout, commands)

    assert world.rig.scheduler.statistics().batched == 60
    assert world.client.slot(0).value == 59


def test_fence_in_a_batch_is_stored_after_the_copies_before_it() -> None:
    """Seen from the slot: the batch is not reordered around it."""
    world = World(plain_layout)
    values: list[bytes] = []
    view = world.rig.memory.view
    slots = world.client.words.u64
    value_at = world.client.slot_offset(1) >> 3

    class Spy:
        def __getitem__(self, index: int) -> int:
            return slots[index]

        def __setitem__(self, index: int, value: int) -> None:
            if index == value_at:
                values.append(bytes(view[world.frames[9] : world.frames[9] + 1]))
            slots[index] = value

    world.client.engine.pools[0]._u64 = Spy()  # type: ignore[assignment]
    world.lane.submit(
        *(copy(BASE + page * 4096, BASE + 9 * 4096, 4096) for page in range(1, 9)),
        *(copy(BASE, BASE + 10 * 4096, 8) for _ in range(20)),
        FenceWrite(flags=WorkFlags.NONE, tag=0, pool=0, slot=1, value=1),
        *(copy(BASE, BASE + 9 * 4096, 4096) for _ in range(30)),
    )
    world.rig.run()

    assert values == [bytes([9])]
    assert view[world.frames[9]] == 1


def test_turns_bytes_end_a_batch_without_losing_a_command() -> None:
    world = World(plain_layout)
    world.client.queue(entries=4).submit(nop())
    size = 5 * PAGE_SIZE
    world.lane.submit(*(copy(BASE, BASE + 8 * PAGE_SIZE, size) for _ in range(60)))

    world.rig.step()
    assert world.lane.completed == -(-(1 << 20) // size)
    world.rig.run()

    assert world.lane.completed == 60


def test_wait_in_the_middle_of_a_batch_holds_what_follows() -> None:
    world = World(plain_layout)
    first = [copy(BASE, BASE + PAGE_SIZE, 64) for _ in range(30)]
    behind = [copy(BASE + 2 * PAGE_SIZE, BASE + 3 * PAGE_SIZE, 64) for _ in range(30)]

    world.lane.submit(*first, wait_for(0, 1), *behind)
    world.rig.run()
    assert world.lane.completed == 30
    assert world.rig.memory.view[world.frames[3]] == 4

    world.client.words.store64(world.client.slot_offset(0), 1)
    world.rig.run()
    assert world.lane.completed == 61
    assert world.rig.memory.view[world.frames[3]] == 3
