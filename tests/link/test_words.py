"""Shared words: whole values only, whatever another process does at the same time."""

from __future__ import annotations

import os

import pytest

from firmware.link.linux import map_anonymous, map_file
from firmware.link.sealed import create_sealed
from firmware.link.words import Words
from tests.harness.children import child
from tests.harness.link_programs import HIGH, LOW

PROGRAMS = "tests.harness.link_programs"
CHANGES = 300


def test_a_word_is_never_seen_torn_or_zero_while_another_process_hammers_it() -> None:
    descriptor = create_sealed("hammered", 4096)
    words = Words(map_file(descriptor, 4096).view)
    u32, u64 = words.u32, words.u64
    seen64: set[int] = set()
    seen32: set[int] = set()
    changes = 0

    with child(PROGRAMS, "hammer", descriptor, pass_fds=[descriptor]) as hammer:
        assert hammer.hear() == "hammering"
        last = u64[0]
        while changes < CHANGES:
            value = u64[0]
            seen64.add(value)
            seen32.add(u32[16])
            if value != last:
                last = value
                changes += 1
    os.close(descriptor)

    assert seen64 == {LOW, HIGH}
    assert seen32 <= {LOW & 0xFFFF_FFFF, HIGH & 0xFFFF_FFFF}


def test_loads_and_stores_name_bytes_by_their_offset() -> None:
    words = Words(memoryview(bytearray(64)))

    words.store32(0x10, 0x0403_0201)
    words.store64(0x20, 0x0807_0605_0403_0201)

    assert bytes(words.u8[0x10:0x14]) == b"\1\2\3\4"
    assert words.load32(0x10) == words.u32[4] == 0x0403_0201
    assert words.load64(0x20) == words.u64[4] == 0x0807_0605_0403_0201
    assert bytes(words.u8[0x20:0x28]) == bytes(range(1, 9))


def test_read_only_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Words(memoryview(bytes(64)))


def test_memory_that_ends_inside_a_word_is_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 8 bytes, got 0xc"):
        Words(memoryview(bytearray(12)))


def test_words_keep_their_memory_mapped() -> None:
    mapping = map_anonymous(4096)
    words = Words(mapping.view)

    mapping.close()
    words.store32(0, 1)

    assert words.load32(0) == 1
