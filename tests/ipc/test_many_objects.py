"""Ranges of very many physical objects: all of them come, in their order, with their bytes."""

import random
import time
from collections.abc import Iterator

import pytest

from hostdriver import levelzero as ze
from tests.harness.emulator_process import EmulatorProcess, emulator_process
from tests.harness.levelzero import PAGE, fails
from tests.harness.ze_program import Program, program

MANY = 100_000
TEN_THOUSAND = 10_000
IMPORT_SECONDS = 1.0
SAMPLES = 500


@pytest.fixture(name="emulator", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorProcess]:
    folder = tmp_path_factory.mktemp("emulator")
    with emulator_process(folder, vram_size=(MANY + TEN_THOUSAND) * PAGE) as process:
        yield process


@pytest.fixture(name="importer")
def make_importer(emulator: EmulatorProcess) -> Iterator[Program]:
    with program(emulator.path) as importer:
        yield importer


def mapped_in_disorder(driver: ze.Driver, count: int, seed: int) -> tuple[ze.Context, int]:
    """Map `count` objects, made one after another, at places in another order."""
    context = driver.create_context()
    va = context.virtual_mem_reserve(count * PAGE)
    places = list(range(count))
    random.Random(seed).shuffle(places)
    for place in places:
        source = context.physical_mem_create(driver.devices[0], ze.PhysicalMemDesc(PAGE))
        context.virtual_mem_map(va + place * PAGE, PAGE, source)
    return context, va


def sampled(count: int, seed: int) -> list[int]:
    """Return the first and last places and some between."""
    return [0, 1, count - 2, count - 1, *random.Random(seed).sample(range(count), SAMPLES)]


def check_whole(driver: ze.Driver, importer: Program, count: int, seed: int) -> float:
    """Export `count` objects in one window and check what arrives; return the import's seconds."""
    context, va = mapped_in_disorder(driver, count, seed)
    places = sampled(count, seed)
    for place in places:
        context.memory_write(va + place * PAGE + place % PAGE, place.to_bytes(8, "little"))
    before = importer.do("descriptors")
    window = [ze.IpcPhysMemHandleRangeExtDesc(count * PAGE)]
    handle = context.mem_get_ipc_handle_with_properties(va, window)

    start = time.perf_counter()
    pointer = importer.do("open", handle)
    seconds = time.perf_counter() - start

    assert importer.do("range_of", pointer + count * PAGE - 1) == [pointer, count * PAGE]
    for place in places:
        found = importer.do("read", pointer + place * PAGE + place % PAGE, 8)
        assert bytes.fromhex(found) == place.to_bytes(8, "little"), (place, seed)
    importer.do("write", pointer + (count - 1) * PAGE, b"back")
    assert context.memory_read(va + (count - 1) * PAGE, 4) == b"back"
    assert importer.do("descriptors") == before
    assert importer.do("close", pointer) is None
    return seconds


@pytest.mark.slow
@pytest.mark.case("R14")
def test_ten_thousand_objects_come_whole(driver: ze.Driver, importer: Program) -> None:
    check_whole(driver, importer, TEN_THOUSAND, seed=14)


@pytest.mark.slow
@pytest.mark.sentence("RANGE-23", "RANGE-31")
def test_hundred_thousand_objects_come_whole_within_a_second(
    driver: ze.Driver, importer: Program
) -> None:
    assert check_whole(driver, importer, MANY, seed=100) < IMPORT_SECONDS


@pytest.mark.case("R14")
def test_more_objects_than_the_device_exports_are_refused_and_not_cut(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("limited")
    with (
        emulator_process(folder, spec="max_range_objects = 4") as limited,
        ze.connect(limited.path, start=None) as driver,
    ):
        context, va = mapped_in_disorder(driver, 5, seed=5)

        with fails("UNSUPPORTED_SIZE", "4"):
            context.mem_get_ipc_handle_with_properties(
                va, [ze.IpcPhysMemHandleRangeExtDesc(5 * PAGE)]
            )
        context.mem_get_ipc_handle_with_properties(va, [ze.IpcPhysMemHandleRangeExtDesc(4 * PAGE)])
