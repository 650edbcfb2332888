"""The walker reads bits: what it accepts, what is malformed, and that nothing surprises it."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from device.core.memory import MemoryController
from device.core.paging import PageTables, walk, walk_many, walk_pages
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, READ_WRITE, VA_LIMIT, PageSizes, Rights
from firmware.abi.paging import Aperture, Pte, directory_entry, leaf_entry
from tests.harness.memory import memory_of
from tests.harness.paging import ALL_SIZES, GIB, KIB, MIB, SMALL, bus, local, map_all, null

VA = 0x7000_0000_0000
FRAMES = 64
MALFORMED = FaultReason.MALFORMED_ENTRY


class Tree:
    """One table of each level that lead to address VA, written by hand."""

    def __init__(self) -> None:
        self.memory = memory_of(FRAMES)
        self.tables = [self.memory.allocate_table() for _ in range(4)]
        self.root = self.tables[3]
        for level in (3, 2, 1):
            self.put(level, directory_entry(self.tables[level - 1]))

    def word(self, level: int, slot: int = 0) -> int:
        index = (VA >> (12 + 9 * level) & 511) + slot
        return self.tables[level] // 8 + index

    def put(self, level: int, entry: int, slot: int = 0) -> None:
        self.memory.words[self.word(level, slot)] = entry

    def put_group(self, first: int) -> None:
        for slot in range(16):
            self.put(0, first + slot * PAGE_SIZE | Pte.contiguous.mask, slot)

    def fault(self, offset: int = 0) -> tuple[FaultReason | None, int, int]:
        found = walk(self.memory, self.root, VA + offset)
        self.agree()
        return found.fault, found.level, found.entry

    def agree(self) -> None:
        """Check that the ways to walk many pages find what walking to each one finds."""
        first = VA // PAGE_SIZE - 32
        vpns = np.arange(first, first + 700)
        alone = [walk(self.memory, self.root, int(vpn) * PAGE_SIZE).page for vpn in vpns]
        assert walk_many(self.memory, self.root, vpns).tolist() == alone
        pages, hole = walk_pages(self.memory, self.root, first, len(vpns))
        assert pages.tolist() == alone
        assert hole == (alone.index(0) if 0 in alone else -1)
        group, _ = walk_pages(self.memory, self.root, VA // PAGE_SIZE, 16)
        assert group.tolist() == alone[32:48]


@pytest.mark.parametrize(
    ("level", "size"), [(0, PAGE_SIZE), (1, 2 * MIB), (2, GIB)], ids=["4K", "2M", "1G"]
)
def test_leaf_covers_its_range_with_consecutive_memory(level: int, size: int) -> None:
    tree = Tree()
    entry = leaf_entry(0x5_8000_0000, Rights.READ, Aperture.BUS)
    tree.put(level, entry)

    for offset in (0, 123, size - 1):
        found = walk(tree.memory, tree.root, VA + offset)
        assert (found.entry, found.level, found.size) == (entry, level, size)
        assert (found.address, found.fault) == (0x5_8000_0000 + offset, None)
        assert found.page == bus(0x5_8000_0000 + offset // PAGE_SIZE * PAGE_SIZE, Rights.READ)
    tree.agree()


def test_group_is_one_leaf_of_64_kib() -> None:
    tree = Tree()
    tree.put_group(bus(0x12_0000))

    found = walk(tree.memory, tree.root, VA + 0x5678)

    assert (found.size, found.level, found.address) == (64 * KIB, 0, 0x12_5678)
    assert found.page == bus(0x12_5000)
    assert found.entry == bus(0x12_5000) | Pte.contiguous.mask
    tree.agree()


def test_null_leaf_has_no_address() -> None:
    tree = Tree()
    tree.put(1, null() | 0x20_0000)

    found = walk(tree.memory, tree.root, VA + 0x5678)

    assert (found.address, found.page, found.fault) == (0, null(), None)
    tree.agree()


@pytest.mark.parametrize("level", [3, 2, 1, 0])
def test_cleared_entry_is_not_present_at_its_level(level: int) -> None:
    tree = Tree()
    tree.put(0, local(0))
    tree.put(level, 0)

    assert tree.fault() == (FaultReason.NOT_PRESENT, level, 0)


@pytest.mark.parametrize("va", [-1, VA_LIMIT, 1 << 63, (1 << 64) - 1])
def test_no_page_is_present_outside_of_48_bits(va: int) -> None:
    tree = Tree()

    found = walk(tree.memory, tree.root, va)

    assert (found.fault, found.level, found.entry) == (FaultReason.NOT_PRESENT, 3, 0)
    assert walk_many(tree.memory, tree.root, np.array([va >> 12], np.int64)).tolist() == [0]


@pytest.mark.parametrize("level", [3, 2, 1])
@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(2, id="not valid, other bits"),
        pytest.param(1 | FRAMES * PAGE_SIZE, id="table behind VRAM"),
        pytest.param(1 | 0xFFFF_FFFF_F000, id="table far behind VRAM"),
        pytest.param(1 | 4, id="right in a directory entry"),
        pytest.param(1 | 1 << 48, id="peer in a directory entry"),
        pytest.param(1 | 1 << 63, id="reserved bit"),
    ],
)
def test_broken_directory_entry_is_malformed(level: int, entry: int) -> None:
    tree = Tree()
    tree.put(0, local(0))
    tree.put(level, entry)

    assert tree.fault() == (MALFORMED, level, entry)


RESERVED_BITS = [9, 10, 11, *range(54, 64)]


@pytest.mark.parametrize("level", [2, 1, 0])
@pytest.mark.parametrize("bit", RESERVED_BITS)
def test_reserved_bit_makes_a_leaf_malformed(level: int, bit: int) -> None:
    tree = Tree()
    entry = local(0) | 1 << bit
    tree.put(level, entry)

    assert tree.fault() == (MALFORMED, level, entry)


@pytest.mark.parametrize("level", [2, 1, 0])
@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(local(0) | Pte.aperture.mask, id="unknown aperture"),
        pytest.param(local(0) | 1 << 48, id="peer of local memory"),
        pytest.param(bus(0) | 1 << 53, id="peer of the bus"),
        pytest.param(local(0) & ~1, id="not valid"),
    ],
)
def test_unknown_attributes_make_a_leaf_malformed(level: int, entry: int) -> None:
    tree = Tree()
    tree.put(level, entry)

    assert tree.fault() == (MALFORMED, level, entry)


def test_leaf_at_the_root_is_malformed() -> None:
    tree = Tree()
    tree.put(3, bus(0))

    assert tree.fault() == (MALFORMED, 3, bus(0))


def test_directory_entry_at_level_0_is_malformed() -> None:
    tree = Tree()
    tree.put(0, directory_entry(tree.tables[0]))

    assert tree.fault() == (MALFORMED, 0, directory_entry(tree.tables[0]))


@pytest.mark.parametrize("level", [2, 1])
def test_contiguous_bit_above_level_0_is_malformed(level: int) -> None:
    tree = Tree()
    entry = int(leaf_entry(0, READ_WRITE, Aperture.BUS, contiguous=True))
    tree.put(level, entry)

    assert tree.fault() == (MALFORMED, level, entry)


@pytest.mark.parametrize(("level", "size"), [(2, GIB), (1, 2 * MIB)])
def test_misaligned_frame_of_a_large_leaf_is_malformed(level: int, size: int) -> None:
    tree = Tree()
    entry = bus(GIB + size // 2)
    tree.put(level, entry)

    assert tree.fault() == (MALFORMED, level, entry)


@pytest.mark.parametrize("slot", [0, 1, 15])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(Pte.contiguous.mask, id="bit missing"),
        pytest.param(PAGE_SIZE, id="other frame"),
        pytest.param(Pte.write.mask, id="other rights"),
        pytest.param(Pte.null.mask, id="null among memory"),
        pytest.param(bus(0) | Pte.contiguous.mask, id="cleared"),
    ],
)
def test_torn_group_is_malformed_wherever_it_is_entered(slot: int, change: int) -> None:
    tree = Tree()
    tree.put_group(bus(0))
    tree.memory.words[tree.word(0, slot)] ^= change | (
        slot * PAGE_SIZE if change & Pte.valid.mask else 0
    )

    for other in {0, 1, 7, 15} - {slot}:
        entry = bus(other * PAGE_SIZE) | Pte.contiguous.mask
        assert tree.fault(other * PAGE_SIZE) == (MALFORMED, 0, entry)


def test_page_without_the_bit_is_itself_whatever_its_neighbours_are() -> None:
    tree = Tree()
    tree.put_group(bus(0))
    tree.put(0, bus(0x9000), 4)

    assert tree.fault(4 * PAGE_SIZE) == (None, 0, bus(0x9000))


def test_group_whose_memory_is_not_aligned_is_malformed() -> None:
    tree = Tree()
    tree.put_group(bus(PAGE_SIZE))

    assert tree.fault()[0] is MALFORMED


def test_null_group_may_have_any_frames() -> None:
    tree = Tree()
    tree.put_group(null())

    assert tree.fault(3 * PAGE_SIZE)[0] is None
    assert walk(tree.memory, tree.root, VA).size == 64 * KIB


@pytest.mark.parametrize(("level", "address"), [(0, FRAMES * PAGE_SIZE), (1, 0), (2, 0)])
def test_leaf_that_leaves_vram_has_a_bad_aperture(level: int, address: int) -> None:
    tree = Tree()
    tree.put(level, local(address))

    assert tree.fault() == (FaultReason.BAD_APERTURE, level, local(address))


def test_group_that_reaches_behind_vram_is_bad_behind_it_only() -> None:
    tree = Tree()
    tree.memory = MemoryController(memoryview(bytearray(72 * PAGE_SIZE)))
    tree.tables = [tree.memory.allocate_table() for _ in range(4)]
    tree.root = tree.tables[3]
    for level in (3, 2, 1):
        tree.put(level, directory_entry(tree.tables[level - 1]))
    tree.put_group(local(64 * PAGE_SIZE))

    assert tree.fault(7 * PAGE_SIZE)[0] is None
    assert tree.fault(8 * PAGE_SIZE)[0] is FaultReason.BAD_APERTURE


def test_peer_memory_translates_with_its_device() -> None:
    tree = Tree()
    entry = int(leaf_entry(0x20_0000, READ_WRITE, Aperture.PEER, peer=5))
    tree.put(1, entry)

    assert walk(tree.memory, tree.root, VA + PAGE_SIZE).page == entry + PAGE_SIZE
    tree.agree()


def test_entry_changed_in_vram_is_what_the_walker_sees() -> None:
    memory = memory_of(FRAMES)
    tables = PageTables(memory, SMALL)
    tables.map_one(VA, 2 * PAGE_SIZE, local(0))
    words = memory.words.tolist()

    memory.words[words.index(local(PAGE_SIZE))] = local(0x8000)

    assert walk(memory, tables.root, VA + PAGE_SIZE).address == 0x8000


@pytest.mark.parametrize("page_sizes", [SMALL, SMALL | PageSizes.MEDIUM, ALL_SIZES])
def test_many_pages_across_tables_and_leaf_sizes_agree_with_single_walks(
    page_sizes: PageSizes,
) -> None:
    memory = memory_of(2048)
    tables = PageTables(memory, page_sizes)
    start = VA + GIB - 4 * MIB
    map_all(
        tables,
        (start, 3 * MIB, bus(0)),
        (start + 3 * MIB, 68 * KIB, null(Rights.READ)),
        (start + 4 * MIB, MIB, local(MIB)),
        (start + 6 * MIB, 2 * MIB, null()),
    )
    first = start // PAGE_SIZE - 600
    alone = [walk(memory, tables.root, (first + n) * PAGE_SIZE).page for n in range(3000)]

    for skip, count in ((0, 3000), (600, 1), (601, 40), (599, 513), (1367, 17), (1112, 1000)):
        pages, hole = walk_pages(memory, tables.root, first + skip, count)
        expected = alone[skip : skip + count]
        assert pages.tolist() == expected
        assert hole == (expected.index(0) if 0 in expected else -1)
    assert walk_many(memory, tables.root, np.arange(first, first + 3000)).tolist() == alone


def test_walk_past_the_last_page_finds_holes() -> None:
    memory = memory_of(FRAMES)
    tables = PageTables(memory, ALL_SIZES)
    tables.map_one(VA_LIMIT - PAGE_SIZE, PAGE_SIZE, local(0))

    pages, hole = walk_pages(memory, tables.root, VA_LIMIT // PAGE_SIZE - 1, 1000)

    assert (int(pages[0]), hole) == (local(0), 1)
    assert not pages[1:].any()


PLAUSIBLE = st.builds(
    lambda bits, frame, high: bits | frame << 12 | high << 48,
    st.integers(0, 0xFFF),
    st.one_of(st.integers(0, 2 * FRAMES), st.integers(0, (1 << 36) - 1)),
    st.sampled_from([0, 0, 0, 1, 1 << 6]),
)
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 40), st.one_of(PLAUSIBLE, st.integers(0, 2**64 - 1))
    ),
    max_size=30,
)


@given(changes=CHANGES, group=st.sampled_from([0, bus(0), null(), local(0x1_0000)]))
def test_whatever_stands_in_the_tables_a_walk_has_an_answer(
    changes: list[tuple[int, int, int]], group: int
) -> None:
    tree = Tree()
    if group:
        tree.put_group(group)
    for level, slot, entry in changes:
        tree.put(level, entry, slot if VA >> (12 + 9 * level) & 511 < 470 else 0)

    tree.agree()


@given(data=st.binary(min_size=1, max_size=200), seed=st.integers(0, 2**32 - 1))
def test_scattered_bytes_in_tables_raise_nothing(data: bytes, seed: int) -> None:
    memory = memory_of(256)
    tables = PageTables(memory, ALL_SIZES)
    map_all(tables, (VA, 3 * MIB, bus(0)), (VA + 4 * MIB, 68 * KIB, local(0)))
    random = np.random.default_rng(seed)
    used = np.flatnonzero(memory.array)
    for byte in data:
        memory.array[int(random.choice(used)) & ~7 | byte & 7] = byte
    vpns = np.arange(VA // PAGE_SIZE - 10, VA // PAGE_SIZE + 2000)

    alone = [walk(memory, tables.root, int(vpn) * PAGE_SIZE).page for vpn in vpns]

    assert walk_many(memory, tables.root, vpns).tolist() == alone
    assert walk_pages(memory, tables.root, int(vpns[0]), len(vpns))[0].tolist() == alone
    tables.query(VA, 8 * MIB, 1000)
