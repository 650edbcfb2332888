"""Any bytes give an image or ImageError, in bounded time and memory; nothing else ever."""

import struct
import tracemalloc

import pytest
from elftools.construct import Enum, Struct, ULInt8
from hypothesis import example, given
from hypothesis import strategies as st

from firmware.abi.registers import BootError
from firmware.image import FirmwareImage, ImageError, SegmentFlags, load, reference_image
from firmware.image._fence import parse
from tests.harness.elf import Elf

GOOD = reference_image()
# Everything but padding: a change in padding changes nothing.
LIVE = [position for position, byte in enumerate(GOOD) if byte]
HEADERS = [*range(64 + 4 * 56), *range(Elf(GOOD).header["e_shoff"], len(GOOD))]
NUMBERS = st.sampled_from(
    sorted({(1 << shift) + step & (1 << 64) - 1 for shift in range(65) for step in (-1, 0, 1)})
)
FIELDS = [
    *((part, at) for part in ("header",) for at in range(16, 64, 2)),
    *((f"p{index}", at) for index in range(4) for at in range(0, 56, 4)),
    *((f"s{index}", at) for index in range(10) for at in range(0, 64, 4)),
]


def outcome(data: bytes) -> FirmwareImage | ImageError:
    try:
        result: FirmwareImage | ImageError = load(data)
    except ImageError as error:
        result = error
    if isinstance(result, ImageError):
        check_error(result)
    else:
        check_image(result)
    return result


def check_error(error: ImageError) -> None:
    assert 0 <= error.detail <= 0xFFFF_FFFF
    assert error.reason not in {BootError.NONE, BootError.UNSUPPORTED_BEHAVIOUR}
    assert str(error).isprintable()


def check_image(image: FirmwareImage) -> None:
    """Check what an image promises."""
    position = 0x8000_0000
    for segment in image.segments:
        assert segment.address >= position
        assert len(segment.data) <= segment.memory_size
        assert not {SegmentFlags.WRITE, SegmentFlags.EXECUTE} <= set(segment.flags)
        position = segment.end
    assert position <= 0x8010_0000
    assert any(
        s.address <= image.entry < s.end and s.flags & SegmentFlags.EXECUTE for s in image.segments
    )
    assert image.symbols.functions()
    assert image.name
    assert image.symbolise(image.entry)


@given(st.binary(max_size=4096))
@example(b"")
@example(b"\x7fELF")
@example(bytes(64))
def test_random_bytes_are_refused(data: bytes) -> None:
    assert isinstance(outcome(data), ImageError)


@given(st.binary(max_size=2048))
def test_random_bytes_behind_a_good_start_are_refused(data: bytes) -> None:
    assert isinstance(outcome(GOOD[:24] + data), ImageError)


@given(st.dictionaries(st.sampled_from(LIVE + HEADERS), st.integers(0, 255), max_size=8))
def test_changed_bytes_give_an_image_or_an_error(changes: dict[int, int]) -> None:
    data = bytearray(GOOD)
    for position, value in changes.items():
        data[position] = value
    outcome(bytes(data))


@given(
    st.lists(st.tuples(st.sampled_from(FIELDS), NUMBERS, st.sampled_from((2, 4, 8))), max_size=4)
)
def test_extreme_numbers_in_headers_give_an_image_or_an_error(
    changes: list[tuple[tuple[str, int], int, int]],
) -> None:
    elf = Elf(GOOD)
    # Taken first: the tables themselves may move.
    places = {"header": 0}
    places |= {f"p{index}": elf.program(index).at for index in range(4)}
    places |= {f"s{index}": elf.section(index).at for index in range(10)}
    for (part, at), number, size in changes:
        start = places[part] + at
        end = min(start + size, len(elf.data))
        elf.data[start:end] = number.to_bytes(8, "little")[: end - start]
    outcome(bytes(elf))


@given(st.data())
def test_pieces_cut_out_or_doubled_give_an_image_or_an_error(data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(GOOD)))
    last = data.draw(st.integers(0, len(GOOD)))
    outcome(GOOD[:first] + GOOD[last:])


@pytest.mark.slow
def test_every_single_changed_header_byte_gives_an_image_or_an_error() -> None:
    for position in HEADERS:
        for value in (GOOD[position] ^ 1, GOOD[position] ^ 0x80, 0xFF):
            data = bytearray(GOOD)
            data[position] = value
            outcome(bytes(data))


def most_symbols() -> bytes:
    """Return an image with as many symbols as there may be, all with the longest name."""
    elf = Elf(GOOD)
    names = b"\0" + b"n" * 255 + b"\0"
    entries = struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x8000_0000, 4) * 16_384
    table, strings = elf.section(".symtab"), elf.section(".strtab")
    table["sh_offset"], table["sh_size"] = elf.append(entries), len(entries)
    strings["sh_offset"], strings["sh_size"] = elf.append(names), len(names)
    return bytes(elf)


def endless_name() -> bytes:
    """Return an image with many symbols whose name is a megabyte without a zero."""
    elf = Elf(most_symbols())
    strings = elf.section(".strtab")
    strings["sh_offset"], strings["sh_size"] = elf.append(b"\1" + b"n" * (1 << 20)), 1 << 20
    return bytes(elf)


def most_notes() -> bytes:
    """Return an image with 30 note segments over one megabyte of empty notes."""
    elf = Elf(GOOD)
    notes = elf.append(bytes(1 << 20))
    table = bytes(elf.data[64 : 64 + 3 * 56])
    one = struct.pack("<IIQQQQQQ", 4, 4, notes, 0, 0, 1 << 20, 1 << 20, 4)
    elf.header["e_phoff"] = elf.append(table + one * 29)
    elf.header["e_phnum"] = 32
    return bytes(elf)


def wide_notes() -> bytes:
    """Return an image with 29 note segments, each one note of a megabyte."""
    elf = Elf(GOOD)
    notes = elf.append(struct.pack("<III", 8, 1 << 20, 0x454D_5A01) + b"emuzero\0" + bytes(1 << 20))
    table = bytes(elf.data[64 : 64 + 3 * 56])
    one = struct.pack("<IIQQQQQQ", 4, 4, notes, 0, 0, (1 << 20) + 20, 0, 4)
    elf.header["e_phoff"] = elf.append(table + one * 29)
    elf.header["e_phnum"] = 32
    return bytes(elf)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(most_symbols(), None, marks=pytest.mark.slow),
        (endless_name(), BootError.BAD_SYMBOLS),
        (most_notes(), BootError.BAD_NOTE),
        (wide_notes(), BootError.BAD_NOTE),
    ],
    ids=["most symbols", "endless name", "most notes", "wide notes"],
)
def test_memory_is_bounded(data: bytes, reason: BootError | None) -> None:
    tracemalloc.start()
    try:
        result = outcome(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert getattr(result, "reason", None) is reason
    assert peak < 16 << 20


def test_what_the_elf_library_cannot_read_is_an_error_of_ours() -> None:
    picky = Struct("picky", Enum(ULInt8("kind"), ONE=1))

    with pytest.raises(ImageError) as caught:
        parse(picky, b"\0\2", 1)

    assert caught.value.reason is BootError.BAD_HEADER
    assert caught.value.detail == 1
    assert "picky at 0x1" in str(caught.value)
