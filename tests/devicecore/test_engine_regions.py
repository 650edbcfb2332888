"""COPY_REGION against rows copied one by one in plain Python."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, VA_LIMIT
from firmware.abi.work import CopyRegion, WorkFlags
from tests.harness.engine import Rig, RigClient, region

A = 0x100_0000
B = 0x200_0000
SIZE = 64 * PAGE_SIZE
CLIENT = 0x7F00_0000_0000


def make(*, scattered: bool) -> RigClient:
    client = Rig().client()
    if scattered:
        client.map_scattered(A, SIZE // PAGE_SIZE)
        client.map_scattered(B, SIZE // PAGE_SIZE)
    else:
        client.map(A, SIZE)
        client.map(B, SIZE)
    client.poke(A, bytes(index * 7 % 253 for index in range(SIZE)))
    return client


def expected(source: bytes, before: bytes, box: CopyRegion) -> bytes:
    """Return what the destination holds after the copy; addresses count from A and B."""
    after = bytearray(before)
    for layer in range(box.depth):
        for row in range(box.height):
            start = box.source - A + layer * box.source_slice_pitch + row * box.source_row_pitch
            to = (
                box.destination
                - B
                + layer * box.destination_slice_pitch
                + row * box.destination_row_pitch
            )
            after[to : to + box.width] = source[start : start + box.width]
    return bytes(after)


def run(client: RigClient, box: CopyRegion) -> None:
    source, before = client.peek(A, SIZE), client.peek(B, SIZE)
    lane = client.queue()

    lane.submit(box)
    client.rig.run()

    assert client.faults() == []
    assert client.peek(B, SIZE) == expected(source, before, box)
    assert client.peek(A, SIZE) == source
    assert lane.queue.bytes_moved == box.width * box.height * box.depth


@st.composite
def boxes(draw: st.DrawFn) -> CopyRegion:
    """Draw boxes that fit SIZE bytes on both sides."""
    width = draw(st.sampled_from([1, 3, 8, 64, 300, 4096, 5000]))
    height = draw(st.integers(1, 6))
    depth = draw(st.integers(1, 4))

    def pitches() -> tuple[int, int]:
        row = width + draw(st.sampled_from([0, 0, 1, 7, 100, 4096]))
        tight = (height - 1) * row + width
        layer = draw(st.sampled_from([tight, height * row, tight + 13]))
        return row, layer

    source, destination = pitches(), pitches()
    start = draw(st.integers(0, 5000))
    to = draw(st.integers(0, 5000))
    return region(A + start, B + to, (width, height, depth), source, destination)


@given(box=boxes(), scattered=st.booleans())
def test_box_is_moved_row_by_row(box: CopyRegion, *, scattered: bool) -> None:
    reach = max(
        (box.depth - 1) * slice_pitch + (box.height - 1) * row + box.width + 5000
        for row, slice_pitch in (
            (box.source_row_pitch, box.source_slice_pitch),
            (box.destination_row_pitch, box.destination_slice_pitch),
        )
    )
    if reach <= SIZE:
        run(make(scattered=scattered), box)


@pytest.mark.parametrize("scattered", [False, True])
def test_more_rows_than_one_step_moves(*, scattered: bool) -> None:
    run(make(scattered=scattered), region(A, B, (3, 9000, 1), (5, 0), (7, 0)))


def test_slices_of_one_row_and_rows_without_gaps_are_joined() -> None:
    client = make(scattered=False)
    run(client, region(A, B, (16, 1, 1000), (16, 20), (16, 24)))
    run(client, region(A, B + 64, (16, 50, 3), (16, 800), (16, 800)))


def test_large_box_gives_way_between_pieces() -> None:
    client = Rig().client()
    source, destination = 0x1000_0000, 0x2000_0000
    client.map(source, 4 << 20)
    client.map(destination, 4 << 20)
    client.poke(source, b"ab" * (2 << 20))
    lane = client.queue()

    lane.submit(region(source, destination, (2000, 1500, 1), (2048, 0), (2048, 0)))
    client.rig.step()
    assert lane.completed == 0
    client.rig.run()

    assert lane.completed == 1
    row = b"ab" * 1000 + bytes(48)
    assert client.peek(destination, 1500 * 2048) == row * 1500


def test_bytes_between_rows_need_not_be_mapped() -> None:
    client = Rig().client()
    for row in range(4):
        client.map(A + row * 0x10000, PAGE_SIZE)
        client.poke(A + row * 0x10000, bytes([row + 1]) * PAGE_SIZE)
    client.map(B, PAGE_SIZE)
    lane = client.queue()

    lane.submit(region(A, B, (1000, 4, 1), (0x10000, 0), (1000, 0)))
    client.rig.run()

    assert client.peek(B, 4000) == b"".join(bytes([row + 1]) * 1000 for row in range(4))


@pytest.mark.parametrize("hole", ["source", "destination"])
def test_box_with_a_hole_moves_nothing(hole: str) -> None:
    client = make(scattered=False)
    base = A if hole == "source" else B
    client.space.tables.unmap(base + 3 * PAGE_SIZE, PAGE_SIZE)
    lane = client.queue()

    lane.submit(region(A, B, (100, 50, 1), (1000, 0), (1000, 0)))
    client.rig.run()

    (record,) = client.faults()
    assert record.reason is FaultReason.NOT_PRESENT
    first = next(row * 1000 for row in range(50) if row * 1000 + 100 > 3 * PAGE_SIZE)
    assert record.va == base + max(first, 3 * PAGE_SIZE)
    assert client.peek(B, PAGE_SIZE) == bytes(PAGE_SIZE)


def test_null_pages_and_poison_go_row_by_row() -> None:
    client = Rig().client()
    client.map(A, 2 * PAGE_SIZE)
    client.map(A + 2 * PAGE_SIZE, 2 * PAGE_SIZE, null=True)
    client.map(B, 4 * PAGE_SIZE)
    client.poke(A, b"x" * (2 * PAGE_SIZE))
    client.poke(B, b"y" * (4 * PAGE_SIZE))
    lane = client.queue()

    lane.submit(region(A, B, (4000, 4, 1), (PAGE_SIZE, 0), (PAGE_SIZE, 0)))
    client.rig.run()
    rows = [client.peek(B + row * PAGE_SIZE, PAGE_SIZE) for row in range(4)]
    assert rows == [b"x" * 4000 + b"y" * 96] * 2 + [bytes(4000) + b"y" * 96] * 2

    client.rig.memory.inject_poison(
        client.space.translate_page(A + PAGE_SIZE, 0) & 0xFFFF_FFFF_F000
    )
    lane.submit(region(A, B, (4000, 4, 1), (PAGE_SIZE, 0), (PAGE_SIZE, 0)))
    client.rig.run()
    (record,) = client.faults()
    assert (record.reason, record.va) == (FaultReason.POISON, A + PAGE_SIZE)


def test_rows_of_client_memory() -> None:
    client = make(scattered=True)
    client.pages.data[:] = bytes(index % 251 for index in range(len(client.pages.data)))
    lane = client.queue()

    lane.submit(
        region(CLIENT + 3, B, (10, 5, 2), (100, 600), (20, 200), WorkFlags.CLIENT_SOURCE),
        region(B, CLIENT, (10, 5, 2), (20, 200), (11, 60), WorkFlags.CLIENT_DESTINATION),
    )
    start = bytes(client.pages.data)
    client.rig.run()

    for layer in range(2):
        for row in range(5):
            at = 3 + layer * 600 + row * 100
            to = layer * 60 + row * 11
            assert client.pages.data[to : to + 10] == start[at : at + 10]


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"width": 0}, 24),
        ({"height": 0}, 28),
        ({"depth": 0}, 32),
        ({"source_row_pitch": 9}, 36),
        ({"destination_row_pitch": 9}, 56),
        ({"source_slice_pitch": 29}, 40),
        ({"destination_slice_pitch": 0}, 48),
        ({"source_slice_pitch": VA_LIMIT}, 8),
        ({"destination_slice_pitch": (1 << 64) - 1}, 16),
        ({"source": VA_LIMIT - 20}, 8),
    ],
)
def test_impossible_boxes_are_bad_commands(change: dict[str, int], detail: int) -> None:
    client = make(scattered=False)
    good = region(A, B, (10, 3, 2), (10, 30), (10, 30))
    values = {field.name: getattr(good, field.name) for field in good.FIELDS[1:]}
    lane = client.queue()

    lane.submit(CopyRegion(**{**values, **change}))
    client.rig.run()

    (record,) = client.faults()
    assert (record.reason, record.detail) == (FaultReason.BAD_COMMAND, detail)
    assert client.peek(B, 64) == bytes(64)
