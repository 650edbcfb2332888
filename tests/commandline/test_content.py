"""Header, manifest and reply: what one process writes, the other reads, or refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostdriver.cli.demo.content import (
    HEADER_SIZE,
    NO_HASH,
    REPLY_SIZE,
    BadContent,
    Entry,
    Header,
    digest_of,
    make_reply,
    manifest_room,
    pack_manifest,
    read_header,
    read_manifest,
    read_reply,
)

WINDOW = 100_000


def entry(offset: int = 500, size: int = 7) -> Entry:
    return Entry("file", size, offset, NO_HASH)


def test_the_header_comes_back() -> None:
    header = Header(WINDOW, 77)

    assert len(header.pack()) == HEADER_SIZE
    assert read_header(header.pack(), WINDOW) == header


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\0" * HEADER_SIZE, "the window begins with"),
        (Header(WINDOW + 1, 77).pack(), "its header tells 100001"),
        (Header(WINDOW, WINDOW).pack(), "leaves the window"),
    ],
)
def test_a_foreign_header_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(BadContent, match=words):
        read_header(data, WINDOW)


names = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=4)


@given(names, st.data())
def test_the_manifest_fits_its_room_wherever_the_files_lie(
    found: list[str], data: st.DataObject
) -> None:
    sizes = [data.draw(st.integers(0, 1 << 40)) for _ in found]
    room = manifest_room(found, sizes)
    entries = [
        Entry(name, size, data.draw(st.integers(0, 1 << 41)), NO_HASH)
        for name, size in zip(found, sizes, strict=True)
    ]

    packed = pack_manifest(entries, room)

    assert len(packed) == room
    assert read_manifest(packed, 1 << 43) == entries


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "malformed"),
        (b"{}", "malformed"),
        (b'[{"name": 1}]', "malformed"),
        (b"\xff\xfe", "malformed"),
        (pack_manifest([entry(WINDOW - REPLY_SIZE - 6)], 500), "leave the window"),
        (pack_manifest([entry(-1)], 500), "leave the window"),
        (pack_manifest([entry(size=-1)], 500), "leave the window"),
    ],
)
def test_a_bad_manifest_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(BadContent, match=words):
        read_manifest(data, WINDOW)


def test_a_file_may_touch_the_reply() -> None:
    last = entry(WINDOW - REPLY_SIZE - 7)

    assert read_manifest(pack_manifest([last], 500), WINDOW) == [last]


@given(st.lists(st.just(NO_HASH), max_size=9), st.integers(1, 1 << 22))
def test_the_reply_shows_that_its_writer_knows_every_hash(hashes: list[str], pid: int) -> None:
    packed = make_reply(hashes, pid)

    assert len(packed) == REPLY_SIZE
    assert read_reply(packed).endswith(digest_of(hashes))
    assert f"process {pid} " in read_reply(packed)


def test_any_bytes_of_a_reply_are_safe_to_show() -> None:
    assert read_reply(b"a\x1b[31m\xff\0\0") == "a?[31m\N{REPLACEMENT CHARACTER}"
