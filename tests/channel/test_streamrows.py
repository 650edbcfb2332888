"""Rows of queues and immediate lists: at every moment they say what the driver would."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from device.core.spec import DeviceSpec
from firmware.abi.channel import CHANNEL_STREAMS, CHANNEL_STREAMS_OFFSET, StreamRow
from firmware.link.segment import Segment
from hostdriver.channel.slots import CHANNEL_SIZE
from hostdriver.channel.streamrows import StreamRows
from hostdriver.core.results import ZeError
from hostdriver.testing.pair import Pair, pair

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from hostdriver.core.commandqueues_stream import Stream

LISTS = 7
QUEUES = 3


class Rows:
    """The streams of a program, and what stands in the rows of them."""

    def __init__(self, world: Pair) -> None:
        self.segment = Segment.in_process(CHANNEL_SIZE)
        self.rows = StreamRows(self.segment.words)
        self.state = world.driver.look(lambda state: state)
        self.taken: dict[Stream, int] = {}

    def follow(self) -> None:
        """Show every stream that none showed before."""
        for stream in self.state.streams.values():
            if stream not in self.taken:
                self.taken[stream] = self.rows.take(stream)

    def row(self, number: int) -> StreamRow:
        at = CHANNEL_STREAMS_OFFSET + number * StreamRow.SIZE
        row = StreamRow.unpack(self.segment.view, at)
        assert isinstance(row, StreamRow)
        assert row.turn % 2 == 0
        return row

    def check(self) -> None:
        for stream, number in self.taken.items():
            row, queue = self.row(number), stream.queue
            assert row.is_known == (queue is not None and stream.failure is None)
            if row.is_known:
                assert queue is not None
                assert (row.ring, row.device) == (queue.ring_offset, stream.device)
                assert row.target == stream.issued + stream.shift


@pytest.fixture(name="world")
def make_world() -> Iterator[Pair]:
    with pair(DeviceSpec(max_queues=QUEUES)) as made:
        yield made


def test_rows_follow_streams_that_share_the_queues_of_a_device(
    world: Pair, chance: random.Random
) -> None:
    rows = Rows(world)
    (device,) = world.driver.devices
    with world.driver.create_context() as context:
        memory = context.mem_alloc_device(device, 4096)
        lists = [context.command_list_create_immediate(device) for _ in range(LISTS)]
        rows.follow()
        rings: set[int] = set()
        for _ in range(100):
            made = chance.choice(lists)
            made.append_memory_fill(memory, b"x", 8)
            rows.check()
            rings |= {rows.row(number).ring for number in rows.taken.values()}
            if chance.random() < 0.5:
                made.host_synchronize()
                rows.check()
        assert len(rows.taken) == LISTS
        assert rings
        assert any(not rows.row(number).is_known for number in rows.taken.values())
        for made in lists:
            made.destroy()
        context.mem_free(memory)
    assert not any(rows.row(number).is_known for number in rows.taken.values())


def test_a_stream_that_fails_is_asked_about(world: Pair) -> None:
    rows = Rows(world)
    (device,) = world.driver.devices
    with world.driver.create_context() as context:
        hole = context.virtual_mem_reserve(1 << 21)
        made = context.command_list_create_immediate(device)
        rows.follow()
        (number,) = rows.taken.values()
        made.append_memory_fill(hole, b"x", 8)
        assert rows.row(number).is_known
        with pytest.raises(ZeError):
            made.host_synchronize()
        rows.check()
        assert not rows.row(number).is_known
        made.destroy()
        context.virtual_mem_free(hole, 1 << 21)


def test_rows_are_used_again_and_never_two_at_a_time(world: Pair) -> None:
    rows = Rows(world)
    (device,) = world.driver.devices
    with world.driver.create_context() as context:
        made = context.command_list_create_immediate(device)
        (stream,) = rows.state.streams.values()
        numbers: list[int] = []
        rows.rows.give(stream)
        for _ in range(CHANNEL_STREAMS):
            numbers.append(rows.rows.take(stream))
            rows.rows.give(stream)

        assert numbers == [*range(1, CHANNEL_STREAMS), 1]
        assert not rows.row(1).is_known
        assert stream.mirror is None
        assert [rows.rows.take(stream) for _ in range(CHANNEL_STREAMS)][-2:] == [1, 0]
        made.destroy()
