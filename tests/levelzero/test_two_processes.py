"""Two real processes on a real emulator: one exports, the other opens, nothing is left behind."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.harness.emulator_process import EmulatorProcess, emulator_process
from tests.harness.ze_program import PAGE, Program, program

LARGE = 2 << 20


@pytest.fixture(name="emulator", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorProcess]:
    with emulator_process(tmp_path_factory.mktemp("emulator"), vram_size=256 << 20) as process:
        yield process


@pytest.fixture(name="pair")
def make_pair(emulator: EmulatorProcess) -> Iterator[tuple[Program, Program]]:
    before = emulator.audit()
    with program(emulator.path) as exporter, program(emulator.path) as importer:
        yield exporter, importer
        for one in (exporter, importer):
            one.process.kill()
        after = emulator.audit()
    assert replace(after, faults=0) == replace(before, faults=0)


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def window(exporter: Program) -> tuple[int, bytes]:
    """Map three objects of different sizes at offsets; return where, and the bytes behind."""
    va = exporter.do("reserve", 16 * PAGE)
    parts = [(3 * PAGE, PAGE, 2 * PAGE), (LARGE, 4 * PAGE, 5 * PAGE), (2 * PAGE, 0, PAGE)]
    at = va
    for size, offset, length in parts:
        number = exporter.do("make", size)
        exporter.do("map", at, length, number, offset)
        at += length
    data = noise(at - va)
    exporter.do("write", va, data)
    return va, data


@pytest.mark.sentence("RANGE-01", "RANGE-07", "RANGE-15", "RANGE-17", "RANGE-18", "RANGE-31")
@pytest.mark.sentence("RANGE-33", "RANGE-34")
@pytest.mark.decision("C12")
@pytest.mark.case("I19")
def test_importer_sees_the_very_bytes_of_the_window(pair: tuple[Program, Program]) -> None:
    exporter, importer = pair
    va, data = window(exporter)
    start, size = PAGE + 77, 6 * PAGE + 5

    pointer = importer.do("open", exporter.do("get", va + start, size))

    assert importer.do("range_of", pointer + size - 1) == [pointer, size]
    assert importer.do("read", pointer, size) == data[start : start + size].hex()
    importer.do("write", pointer + 5, b"reply")
    assert exporter.do("read", va + start + 5, 5) == b"reply".hex()
    exporter.do("write", va + start, b"news")
    assert importer.do("read", pointer, 4) == b"news".hex()


@pytest.mark.slow
@pytest.mark.sentence("RANGE-32")
@pytest.mark.decision("FAULT-02")
@pytest.mark.case("D17")
def test_window_ends_where_it_ends(pair: tuple[Program, Program]) -> None:
    exporter, importer = pair
    va, _ = window(exporter)
    pointer = importer.do("open", exporter.do("get", va, 2 * PAGE))

    assert importer.do("read", pointer + 2 * PAGE, 1) == "DEVICE_LOST"
    assert importer.do("read", pointer + 2 * PAGE - 1, 1) != "DEVICE_LOST"
    assert importer.do("range_of", pointer + 2 * PAGE) == "ADDRESS_NOT_FOUND"


@pytest.mark.slow
@pytest.mark.sentence("RANGE-25")
@pytest.mark.decision("C10c")
def test_handle_is_a_picture_of_the_moment(pair: tuple[Program, Program]) -> None:
    exporter, importer = pair
    va, data = window(exporter)
    handle = exporter.do("get", va, 8 * PAGE)
    exporter.do("free", va, 16 * PAGE)
    for number in range(3):
        assert exporter.do("destroy", number) is None

    pointer = importer.do("open", handle)

    assert importer.do("read", pointer, 8 * PAGE) == data.hex()


@pytest.mark.decision("C11")
@pytest.mark.case("I07", "I09")
def test_handle_that_was_put_opens_no_more_and_what_is_open_stays(
    pair: tuple[Program, Program],
) -> None:
    exporter, importer = pair
    va, data = window(exporter)
    handle = exporter.do("get", va, 100)
    pointer = importer.do("open", handle)

    assert exporter.do("put", handle) is None

    assert importer.do("open", handle) == "INVALID_ARGUMENT"
    assert importer.do("read", pointer, 100) == data[:100].hex()
    assert importer.do("close", pointer) is None
    assert importer.do("read", pointer, 1) == "DEVICE_LOST"
    assert exporter.do("put", handle) is None


@pytest.mark.sentence("RANGE-28")
@pytest.mark.decision("C10", "C10c", "C11")
def test_memory_outlives_its_exporter_while_it_is_open(
    pair: tuple[Program, Program], emulator: EmulatorProcess
) -> None:
    exporter, importer = pair
    va, data = window(exporter)
    handle = exporter.do("get", va, 8 * PAGE)
    pointer = importer.do("open", handle)

    exporter.process.kill()
    emulator.audit()

    assert importer.do("open", handle) == "INVALID_ARGUMENT"
    assert importer.do("read", pointer, 8 * PAGE) == data.hex()


def test_importer_that_dies_takes_nothing_with_it(
    pair: tuple[Program, Program], emulator: EmulatorProcess
) -> None:
    exporter, importer = pair
    va, data = window(exporter)
    importer.do("open", exporter.do("get", va, 8 * PAGE))

    importer.process.kill()
    emulator.audit()

    assert exporter.do("read", va, 8 * PAGE) == data.hex()
    assert exporter.do("free", va, 16 * PAGE) is None


@pytest.mark.slow
@pytest.mark.case("I01", "I15")
def test_opening_and_closing_leaves_no_descriptor(pair: tuple[Program, Program]) -> None:
    exporter, importer = pair
    va, data = window(exporter)
    handle = exporter.do("get", va + 1, 100)
    importer.do("close", importer.do("open", handle))
    before = importer.do("descriptors"), exporter.do("descriptors")

    pointers = {importer.do("open", handle) for _ in range(30)}

    assert len(pointers) == 30
    for pointer in sorted(pointers)[::2]:
        assert importer.do("close", pointer) is None
    for pointer in sorted(pointers)[1::2]:
        assert importer.do("read", pointer, 100) == data[1:101].hex()
    for _ in range(30):
        exporter.do("put", exporter.do("get", va, 10))
    assert (importer.do("descriptors"), exporter.do("descriptors")) == before


@pytest.mark.slow
def test_one_object_twice_in_a_window_is_one_memory(pair: tuple[Program, Program]) -> None:
    exporter, importer = pair
    va = exporter.do("reserve", 2 * PAGE)
    number = exporter.do("make", PAGE)
    for page in range(2):
        exporter.do("map", va + page * PAGE, PAGE, number, 0)
    pointer = importer.do("open", exporter.do("get", va, 2 * PAGE))

    importer.do("write", pointer + 9, b"twice")

    assert importer.do("read", pointer + PAGE + 9, 5) == b"twice".hex()
    assert exporter.do("read", va + PAGE + 9, 5) == b"twice".hex()


@pytest.mark.slow
@pytest.mark.sentence("RANGE-01", "RANGE-05", "RANGE-23", "RANGE-24", "RANGE-31")
def test_many_objects_come_whole_and_in_order(pair: tuple[Program, Program]) -> None:
    exporter, importer = pair
    count = 300
    va = exporter.do("reserve", count * PAGE)
    for number in range(count):
        exporter.do("make", PAGE)
        exporter.do("map", va + (count - 1 - number) * PAGE, PAGE, number, 0)
        exporter.do("write", va + (count - 1 - number) * PAGE, number.to_bytes(8, "little"))

    pointer = importer.do("open", exporter.do("get", va, count * PAGE))

    for number in range(count):
        found = importer.do("read", pointer + (count - 1 - number) * PAGE, 8)
        assert bytes.fromhex(found) == number.to_bytes(8, "little")


@pytest.mark.slow
@pytest.mark.sentence("RANGE-14")
def test_host_memory_is_the_same_for_cpu_and_device(pair: tuple[Program, Program]) -> None:
    exporter, importer = pair
    number = exporter.do("make", 3 * 4096, 1)
    va = exporter.do("reserve", PAGE)
    exporter.do("map", va, 2 * 4096, number, 4096)

    exporter.do("poke", va + 10, b"by the CPU")
    assert exporter.do("read", va + 10, 10) == b"by the CPU".hex()
    exporter.do("write", va + 4096, b"by the GPU")
    assert exporter.do("peek", va + 4096, 10) == b"by the GPU".hex()
    pointer = importer.do("open", exporter.do("get", va, 8192))
    assert importer.do("read", pointer + 10, 10) == b"by the CPU".hex()


@pytest.mark.slow
@pytest.mark.sentence("RANGE-02", "RANGE-30")
def test_mapped_memory_has_one_plain_handle(pair: tuple[Program, Program]) -> None:
    exporter, importer = pair
    va, data = window(exporter)
    handle = exporter.do("get_plain", va + 2 * PAGE)
    assert exporter.do("get_plain", va + 2 * PAGE) == handle
    assert exporter.do("get_plain", va + 3 * PAGE) == "INVALID_ARGUMENT"

    pointer = importer.do("open", handle)

    assert importer.do("range_of", pointer) == [pointer, 5 * PAGE]
    assert importer.do("read", pointer, 5 * PAGE) == data[2 * PAGE : 7 * PAGE].hex()
    exporter.do("unmap", va + 2 * PAGE, 5 * PAGE)
    assert importer.do("open", handle) == "INVALID_ARGUMENT"


@pytest.mark.slow
@pytest.mark.case("V06")
def test_memory_that_is_full_is_told_at_creation(
    pair: tuple[Program, Program], emulator: EmulatorProcess
) -> None:
    exporter, _ = pair
    free = emulator.audit().free_bytes
    exporter.do("make", free // 2 // LARGE * LARGE)

    assert exporter.do("make", (free // 2 // LARGE + 2) * LARGE) == "OUT_OF_DEVICE_MEMORY"
    assert isinstance(exporter.do("make", PAGE), int)


@pytest.mark.slow
@pytest.mark.case("I25")
def test_corrupted_handle_opens_nothing(pair: tuple[Program, Program]) -> None:
    exporter, importer = pair
    va, _ = window(exporter)
    handle = bytes.fromhex(exporter.do("get", va, 100))

    for position in range(4, 64):
        changed = bytearray(handle)
        changed[position] ^= 0x10
        assert importer.do("open", bytes(changed)) == "INVALID_ARGUMENT"
    assert isinstance(importer.do("open", handle), int)
