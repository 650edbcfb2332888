"""The small functions of the contract: ring indices, page-table entries, check word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware.abi import offset_of, rings, segment
from firmware.abi.ids import ALL_RIGHTS, PAGE_SIZE, PageSizes, Rights
from firmware.abi.ipc import CHECKED, IpcHandle, check_word
from firmware.abi.paging import (
    ENTRY_SIZE,
    FRAME_MASK,
    LEVELS,
    RIGHTS_MASK,
    RIGHTS_SHIFT,
    TABLE_SIZE,
    Aperture,
    Pde,
    Pte,
    directory_entry,
    leaf_entry,
)
from firmware.abi.rings import RingHeader, needs_notify, silent_event, waiting
from firmware.abi.segment import FenceSlot
from tests.harness.strategies import unsigned

U32 = unsigned(32)
MODULUS = 1 << 32


@given(head=U32, count=U32)
def test_waiting_counts_over_the_wrap(head: int, count: int) -> None:
    assert waiting((head + count) % MODULUS, head) == count


@given(old=st.integers(0, 1 << 40), moved=st.integers(0, 5000), ahead=st.integers(-5000, 5000))
def test_notice_is_given_when_the_index_passes_the_event(old: int, moved: int, ahead: int) -> None:
    # Oracle: indices that never wrap. "Tell me when the index is greater than event."
    new, event = old + moved, old + ahead

    told = needs_notify(event % MODULUS, new % MODULUS, old % MODULUS)

    assert told == (old <= event < new)


@given(index=U32, moved=st.integers(0, (1 << 31) - 1))
def test_a_silent_event_asks_for_nothing(index: int, moved: int) -> None:
    assert not needs_notify(silent_event(index), (index + moved) % MODULUS, index)


def test_offsets_for_single_stores_are_those_of_the_records() -> None:
    for field in RingHeader.FIELDS:
        name = field.name.upper()
        if hasattr(rings, name):
            assert getattr(rings, name) == field.offset
    for field in FenceSlot.FIELDS:
        assert getattr(segment, f"FENCE_{field.name.upper()}") == field.offset


def test_each_side_of_a_ring_has_cache_lines_of_its_own() -> None:
    producer = {"tail", "head_event", "producer_sleepers"}
    consumer = {"head", "tail_event", "consumer_sleepers"}

    lines = {field.name: field.offset // 64 for field in RingHeader.FIELDS}

    assert {lines[name] for name in producer} == {0}
    assert {lines[name] for name in consumer} == {1}
    assert {line for name, line in lines.items() if name not in producer | consumer} == {2, 3}


@given(
    frame=unsigned(36),
    rights=st.sampled_from([Rights(bits) for bits in range(8)]),
    aperture=st.sampled_from(Aperture),
    contiguous=st.booleans(),
    null=st.booleans(),
    peer=unsigned(6),
)
def test_a_leaf_entry_holds_what_it_is_given(
    frame: int, rights: Rights, aperture: Aperture, contiguous: bool, null: bool, peer: int
) -> None:
    address = frame * PAGE_SIZE

    entry = leaf_entry(address, rights, aperture, contiguous=contiguous, null=null, peer=peer)

    assert entry.malformed() is None
    assert (entry.valid, entry.leaf) == (True, True)
    assert (entry & FRAME_MASK, entry.frame) == (address, frame)
    assert Rights((entry & RIGHTS_MASK) >> RIGHTS_SHIFT) == rights
    assert (entry.read, entry.write, entry.atomic) == tuple(r in rights for r in Rights)
    assert (entry.aperture, entry.contiguous, entry.null) == (aperture, contiguous, null)
    assert entry.peer == peer


@given(frame=unsigned(36))
def test_a_directory_entry_points_to_its_table(frame: int) -> None:
    entry = directory_entry(frame * PAGE_SIZE)

    assert (entry.valid, entry.leaf, entry.frame) == (True, False, frame)
    assert entry.malformed() is None


@pytest.mark.parametrize("address", [1, PAGE_SIZE - 1, 1 << 48, -PAGE_SIZE])
def test_entries_refuse_addresses_that_are_no_page(address: int) -> None:
    with pytest.raises(ValueError, match=r"page address .* does not fit"):
        leaf_entry(address, ALL_RIGHTS)
    with pytest.raises(ValueError, match=r"table address .* does not fit"):
        directory_entry(address)
    with pytest.raises(ValueError, match="peer: 0x40 does not fit"):
        leaf_entry(0, ALL_RIGHTS, peer=64)


def test_levels_cover_the_address_and_the_page_sizes() -> None:
    assert [level.shift for level in LEVELS] == [12, 21, 30, 39]
    leaves = {1 << level.shift for level in LEVELS if level.leaf_allowed}
    assert leaves | {int(PageSizes.MEDIUM)} == {int(size) for size in PageSizes}
    assert TABLE_SIZE == PAGE_SIZE == 512 * ENTRY_SIZE


def test_words_describe_themselves() -> None:
    assert leaf_entry(0x5000, Rights.READ, Aperture.BUS).describe() == (
        "0x0000000000005027 (valid leaf read aperture=BUS frame=0x5 peer=0x0)"
    )
    assert "reserved=0x4" in Pde(5).describe()
    assert "aperture=0x3" in Pte(0x60).describe()


@given(data=st.binary(min_size=64, max_size=64), number=st.binary(min_size=4, max_size=4))
def test_the_check_word_does_not_cover_the_descriptor(data: bytes, number: bytes) -> None:
    assert check_word(data) == check_word(number + data[4:])
    assert check_word(data) == check_word(data[:60] + number)


@given(data=st.binary(min_size=64, max_size=64), bit=st.integers(4 * 8, 60 * 8 - 1))
def test_the_check_word_notices_every_other_bit(data: bytes, bit: int) -> None:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8

    assert check_word(bytes(changed)) != check_word(data)


def test_the_check_word_stands_behind_what_it_covers() -> None:
    assert offset_of(IpcHandle, "check") == CHECKED.stop
    assert offset_of(IpcHandle, "magic") == CHECKED.start
