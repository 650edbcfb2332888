"""Faults of other drivers, tried on real emulators; and what a handle shows as time goes by."""

import resource
from collections.abc import Iterator

import pytest

from hostdriver import levelzero as ze
from tests.harness.emulator_process import EmulatorProcess, emulator_process
from tests.harness.levelzero import LARGE, PAGE, fails
from tests.harness.ze_program import Program, program

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
FEW_DESCRIPTORS = 64


@pytest.fixture(name="emulator", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorProcess]:
    with emulator_process(tmp_path_factory.mktemp("emulator"), vram_size=8 * GIB) as process:
        yield process


@pytest.fixture(name="driver")
def make_driver(emulator: EmulatorProcess) -> Iterator[ze.Driver]:
    with ze.connect(emulator.path, start=None) as driver:
        yield driver


@pytest.fixture(name="pair")
def make_pair(emulator: EmulatorProcess) -> Iterator[tuple[Program, Program]]:
    with program(emulator.path) as exporter, program(emulator.path) as importer:
        yield exporter, importer


def rounded(size: int, page: int) -> int:
    return -(-size // page) * page


@pytest.mark.decision("PAGE-01")
@pytest.mark.case("V01")
@pytest.mark.parametrize("size", [1, MIB, MIB + 1, 2 * MIB, 2 * MIB + 1, GIB])
def test_size_rounded_to_the_page_that_was_told_is_reserved_and_freed(
    context: ze.Context, device: ze.Device, size: int
) -> None:
    page = context.virtual_mem_query_page_size(device, size)
    whole = rounded(size, page)

    start = context.virtual_mem_reserve(whole)

    assert page == (LARGE if size >= LARGE else PAGE)
    assert start % page == 0
    context.virtual_mem_free(start, whole)


@pytest.mark.case("V02")
@pytest.mark.parametrize("size", [4 * KIB, 64 * KIB, 2 * MIB, GIB])
def test_physical_memory_is_made_of_the_page_size_that_was_told(
    context: ze.Context, device: ze.Device, emulator: EmulatorProcess, size: int
) -> None:
    page = context.virtual_mem_query_page_size(device, size)
    free = emulator.audit().free_bytes
    physical = context.physical_mem_create(device, ze.PhysicalMemDesc(rounded(size, page)))
    held = emulator.audit()

    with fails("UNSUPPORTED_SIZE", f"{page:#x}"):
        context.physical_mem_create(device, ze.PhysicalMemDesc(rounded(size, page) + 1))

    assert emulator.audit() == held
    context.physical_mem_destroy(physical)
    assert emulator.audit().free_bytes == free


@pytest.mark.slow
@pytest.mark.case("V04")
def test_address_that_is_mapped_again_shows_the_other_offset(
    pair: tuple[Program, Program],
) -> None:
    one, _ = pair
    va, number = one.do("reserve", PAGE), one.do("make", 3 * PAGE)
    for page, word in enumerate((b"page 0", b"page 1", b"page 2")):
        one.do("map", va, PAGE, number, page * PAGE)
        one.do("write", va, word)
        one.do("unmap", va, PAGE)

    assert one.do("read", va, 6) == "DEVICE_LOST"
    for page, word in enumerate((b"page 0", b"page 1", b"page 2")):
        one.do("map", va, PAGE, number, page * PAGE)
        assert one.do("read", va, 6) == word.hex()
        one.do("unmap", va, PAGE)


@pytest.mark.slow
@pytest.mark.case("V05")
def test_host_memory_at_two_addresses_survives_at_one(pair: tuple[Program, Program]) -> None:
    one, _ = pair
    number = one.do("make", PAGE, 1)
    first, second = one.do("reserve", PAGE), one.do("reserve", PAGE)
    for va in (first, second):
        one.do("map", va, PAGE, number, 0)

    one.do("write", first, b"by the device")
    assert one.do("peek", second, 13) == b"by the device".hex()
    one.do("poke", second, b"and by the CPU")
    assert one.do("read", first, 14) == b"and by the CPU".hex()
    one.do("unmap", first, PAGE)

    assert one.do("read", second, 14) == b"and by the CPU".hex()
    assert one.do("peek", second, 14) == b"and by the CPU".hex()


@pytest.mark.case("V10")
def test_memory_of_any_number_of_pages_is_given_access(
    context: ze.Context, device: ze.Device
) -> None:
    start = at = context.virtual_mem_reserve(32 * GIB)
    page = context.virtual_mem_query_page_size(device, 32 * GIB)
    made = []
    for count in range(1, 65):
        size = count * page
        made.append(context.physical_mem_create(device, ze.PhysicalMemDesc(size)))
        context.virtual_mem_map(at, size, made[-1], 0, ze.MemoryAccessAttribute.NONE)
        access = ze.MemoryAccessAttribute.READWRITE
        context.virtual_mem_set_access_attribute(at, size, access)
        context.memory_write(at + size - 8, count.to_bytes(8, "little"))
        at += size

    found = context.virtual_mem_get_access_attribute(start, at - start)

    assert found == (ze.MemoryAccessAttribute.READWRITE, at - start)
    context.virtual_mem_free(start, 32 * GIB)
    for physical in made:
        context.physical_mem_destroy(physical)


@pytest.mark.case("V12")
def test_device_cannot_store_where_access_was_made_read_only(
    context: ze.Context, device: ze.Device
) -> None:
    access = ze.MemoryAccessAttribute
    va = context.virtual_mem_reserve(4 * PAGE)
    assert context.virtual_mem_get_access_attribute(va, 4 * PAGE) == (access.NONE, 4 * PAGE)
    physical = context.physical_mem_create(device, ze.PhysicalMemDesc(4 * PAGE))
    context.virtual_mem_map(va, 4 * PAGE, physical)

    context.virtual_mem_set_access_attribute(va + 2 * PAGE, PAGE, access.READONLY)

    assert context.virtual_mem_get_access_attribute(va, 4 * PAGE) == (access.READWRITE, 2 * PAGE)
    assert context.memory_read(va + 2 * PAGE, 4) == bytes(4)
    with fails("DEVICE_LOST", f"{va + 2 * PAGE:#x}"):
        context.memory_write(va + 2 * PAGE, b"word")
    context.memory_write(va + 3 * PAGE, b"word")
    assert context.memory_read(va + 2 * PAGE, 4) == bytes(4)


@pytest.mark.slow
@pytest.mark.case("I03")
def test_thousand_gets_and_puts_fit_in_few_descriptors(pair: tuple[Program, Program]) -> None:
    one, _ = pair
    va, number = one.do("reserve", PAGE), one.do("make", PAGE)
    one.do("map", va, PAGE, number, 0)
    before = one.do("descriptors")
    resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, (FEW_DESCRIPTORS, FEW_DESCRIPTORS))

    for _ in range(1000):
        assert one.do("put", one.do("get_plain", va)) is None

    assert before < FEW_DESCRIPTORS
    assert one.do("descriptors") == before


@pytest.mark.case("I04")
def test_handle_opens_until_the_last_of_its_puts(pair: tuple[Program, Program]) -> None:
    exporter, importer = pair
    va, number = exporter.do("reserve", PAGE), exporter.do("make", PAGE)
    exporter.do("map", va, PAGE, number, 0)
    handle = exporter.do("get_plain", va)
    assert exporter.do("get_plain", va) == handle

    exporter.do("put", handle)
    assert isinstance(importer.do("open", handle), int)
    exporter.do("put", handle)
    assert importer.do("open", handle) == "INVALID_ARGUMENT"

    assert isinstance(importer.do("open", exporter.do("get_plain", va)), int)


@pytest.mark.sentence("RANGE-10")
def test_window_over_neighbouring_reservations_is_one_stretch(
    context: ze.Context, device: ze.Device
) -> None:
    start = context.virtual_mem_reserve(3 * PAGE)
    context.virtual_mem_free(start, 3 * PAGE)
    physical = context.physical_mem_create(device, ze.PhysicalMemDesc(3 * PAGE))
    for page in range(3):
        at = start + page * PAGE
        assert context.virtual_mem_reserve(PAGE, at) == at
        context.virtual_mem_map(at, PAGE, physical, (2 - page) * PAGE)
    data = b"over the borders" * (3 * PAGE // 16)
    context.memory_write(start, data)
    window = [ze.IpcPhysMemHandleRangeExtDesc(3 * PAGE - 7)]

    handle = context.mem_get_ipc_handle_with_properties(start + 7, window)
    pointer = context.mem_open_ipc_handle(device, handle)

    assert context.mem_get_address_range(pointer) == (pointer, 3 * PAGE - 7)
    assert context.memory_read(pointer, 3 * PAGE - 7) == data[7:]


@pytest.mark.slow
@pytest.mark.sentence("RANGE-02")
@pytest.mark.case("R01")
def test_plain_handle_of_a_second_page_shows_that_page(pair: tuple[Program, Program]) -> None:
    exporter, importer = pair
    va, number = exporter.do("reserve", 3 * PAGE), exporter.do("make", 2 * PAGE)
    exporter.do("map", va, 2 * PAGE, number, 0)
    exporter.do("write", va, b"\xcc" * 16)
    exporter.do("write", va + PAGE, b"second page")
    exporter.do("map", va + 2 * PAGE, PAGE, number, PAGE)

    pointer = importer.do("open", exporter.do("get_plain", va + 2 * PAGE))

    assert importer.do("range_of", pointer) == [pointer, PAGE]
    assert importer.do("read", pointer, 11) == b"second page".hex()
    importer.do("write", pointer, b"SECOND")
    assert exporter.do("read", va + PAGE, 11) == b"SECOND page".hex()
    exporter.do("write", va + 2 * PAGE, b"2")
    assert importer.do("read", pointer, 6) == b"2ECOND".hex()


@pytest.mark.slow
@pytest.mark.sentence("RANGE-09", "RANGE-16", "RANGE-25", "RANGE-26", "RANGE-27", "RANGE-28")
@pytest.mark.sentence("RANGE-29")
def test_only_a_new_handle_shows_what_was_mapped_later(pair: tuple[Program, Program]) -> None:
    exporter, importer = pair
    va = exporter.do("reserve", 4 * PAGE)
    numbers = [exporter.do("make", PAGE) for _ in range(4)]
    for page in (0, 1):
        exporter.do("map", va + page * PAGE, PAGE, numbers[page], 0)
        exporter.do("write", va + page * PAGE, b"old%d" % page)
    assert exporter.do("get", va, 4 * PAGE) == "ADDRESS_NOT_FOUND"
    old = exporter.do("get", va, 2 * PAGE)
    early = importer.do("open", old)

    exporter.do("unmap", va + PAGE, PAGE)
    for page in (1, 2):
        exporter.do("map", va + page * PAGE, PAGE, numbers[page + 1], 0)
        exporter.do("write", va + page * PAGE, b"new%d" % page)
    late = importer.do("open", old)
    new = importer.do("open", exporter.do("get", va, 3 * PAGE))

    for pointer in (early, late):
        assert importer.do("range_of", pointer) == [pointer, 2 * PAGE]
        assert importer.do("read", pointer + PAGE, 4) == b"old1".hex()
    assert importer.do("range_of", new) == [new, 3 * PAGE]
    assert importer.do("read", new, 4) == b"old0".hex()
    assert importer.do("read", new + PAGE, 4) == b"new1".hex()
    assert importer.do("read", new + 2 * PAGE, 4) == b"new2".hex()


@pytest.mark.decision("C9", "CONTEXT-01")
def test_contexts_of_a_process_share_its_memory_and_handles(
    driver: ze.Driver, device: ze.Device
) -> None:
    one, other = driver.create_context(), driver.create_context()
    va = one.virtual_mem_reserve(PAGE)
    physical = other.physical_mem_create(device, ze.PhysicalMemDesc(PAGE))
    one.virtual_mem_map(va, PAGE, physical)
    handle = other.mem_get_ipc_handle(va)
    pointer = one.mem_open_ipc_handle(device, handle)
    one.memory_write(va, b"shared")
    one.destroy()

    assert other.memory_read(pointer, 6) == b"shared"
    other.mem_close_ipc_handle(pointer)
    other.mem_put_ipc_handle(handle)
    with fails("INVALID_ARGUMENT"):
        other.mem_open_ipc_handle(device, handle)
    other.mem_put_ipc_handle(handle)
    other.virtual_mem_free(va, PAGE)
    other.physical_mem_destroy(physical)
