"""IPC handles of allocations and of physical objects: one each, counted, gone with the memory."""

import os

import pytest

from hostdriver import levelzero as ze
from tests.harness.levelzero import PAGE, fails
from tests.ipc.conftest import Side, Sides

KINDS = ("device", "host")
FABRIC = ze.IpcMemHandleTypeExtDesc(ze.IpcMemHandleTypeFlags.FABRIC_ACCESSIBLE)
DEFAULT = ze.IpcMemHandleTypeExtDesc(ze.IpcMemHandleTypeFlags.DEFAULT)


def allocate(side: Side, kind: str, size: int) -> int:
    if kind == "device":
        return side.context.mem_alloc_device(side.device, size)
    return side.context.mem_alloc_host(size)


@pytest.mark.decision("C20")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 100, PAGE, 3 * PAGE + 5])
def test_importer_sees_the_allocation_and_no_more(sides: Sides, kind: str, size: int) -> None:
    exporter, importer = sides.exporter, sides.importer
    pointer = allocate(exporter, kind, size)
    exporter.context.memory_write(pointer, bytes(range(1, 2)) * size)

    opened = importer.open(exporter.context.mem_get_ipc_handle(pointer))

    assert importer.context.mem_get_address_range(opened) == (opened, size)
    assert importer.context.memory_read(opened, size) == b"\1" * size
    importer.context.memory_write(opened + size - 1, b"\x7f")
    assert exporter.context.memory_read(pointer + size - 1, 1) == b"\x7f"
    with fails("ADDRESS_NOT_FOUND"):
        importer.context.mem_get_address_range(opened + size)
    importer.close(opened)
    exporter.context.mem_free(pointer)
    sides.pair.assert_nothing_left()


@pytest.mark.case("I04")
@pytest.mark.parametrize("kind", KINDS)
def test_memory_has_one_handle_until_its_last_put(sides: Sides, kind: str) -> None:
    context = sides.exporter.context
    pointer = allocate(sides.exporter, kind, PAGE)
    handle = context.mem_get_ipc_handle(pointer)
    assert context.mem_get_ipc_handle_with_properties(pointer, [DEFAULT]) == handle

    context.mem_put_ipc_handle(handle)
    sides.importer.close(sides.importer.open(handle))
    context.mem_put_ipc_handle(handle)

    with fails("INVALID_ARGUMENT", "put"):
        sides.importer.open(handle)
    assert sides.importer.open(context.mem_get_ipc_handle(pointer))


@pytest.mark.decision("C10b")
@pytest.mark.parametrize("kind", KINDS)
def test_freeing_puts_the_handle_and_what_is_open_lives_on(sides: Sides, kind: str) -> None:
    exporter, importer = sides.exporter, sides.importer
    pointer = allocate(exporter, kind, PAGE)
    exporter.context.memory_write(pointer, b"kept")
    handle = exporter.context.mem_get_ipc_handle(pointer)
    opened = importer.open(handle)

    exporter.context.mem_free(pointer)

    with fails("INVALID_ARGUMENT"):
        importer.open(handle)
    exporter.context.mem_put_ipc_handle(handle)
    assert importer.context.memory_read(opened, 4) == b"kept"
    importer.close(opened)
    sides.pair.assert_nothing_left()


@pytest.mark.case("I11")
@pytest.mark.parametrize("kind", KINDS)
def test_old_handle_never_opens_new_memory_at_the_same_address(sides: Sides, kind: str) -> None:
    exporter, importer = sides.exporter, sides.importer
    first = allocate(exporter, kind, PAGE)
    old = exporter.context.mem_get_ipc_handle(first)
    exporter.context.mem_put_ipc_handle(old)
    exporter.context.mem_free(first)
    second = allocate(exporter, kind, PAGE)
    assert second == first
    exporter.context.memory_write(second, b"new")
    new = exporter.context.mem_get_ipc_handle(second)

    with fails("INVALID_ARGUMENT"):
        importer.open(old)

    assert importer.context.memory_read(importer.open(new), 3) == b"new"


@pytest.mark.decision("C19", profile="both")
@pytest.mark.case("I23")
@pytest.mark.parametrize("profile", ["sides", "intel"])
@pytest.mark.parametrize("kind", KINDS)
def test_interior_pointer_has_no_handle(
    request: pytest.FixtureRequest, profile: str, kind: str
) -> None:
    sides: Sides = request.getfixturevalue(profile)
    pointer = allocate(sides.exporter, kind, 4 * PAGE)

    for offset in (1, PAGE, 4 * PAGE - 1):
        with fails("INVALID_ARGUMENT", hex(pointer)):
            sides.exporter.context.mem_get_ipc_handle(pointer + offset)


@pytest.mark.error("MemGetIpcHandle", "IA")
def test_shared_memory_has_no_handle(sides: Sides) -> None:
    pointer = sides.exporter.context.mem_alloc_shared(PAGE)

    with fails("INVALID_ARGUMENT", "shared"):
        sides.exporter.context.mem_get_ipc_handle(pointer)


@pytest.mark.error("MemGetIpcHandle", "IA")
def test_opened_memory_is_not_handed_on(sides: Sides) -> None:
    pointer = allocate(sides.exporter, "device", PAGE)
    opened = sides.importer.open(sides.exporter.context.mem_get_ipc_handle(pointer))

    with fails("INVALID_ARGUMENT"):
        sides.importer.context.mem_get_ipc_handle(opened)


@pytest.mark.sentence("HANDLETYPE-02", "HANDLETYPE-03")
@pytest.mark.decision("C35b")
@pytest.mark.parametrize("kind", KINDS)
def test_handle_type_is_taken_at_allocation_unless_it_needs_a_fabric(
    sides: Sides, kind: str
) -> None:
    context, device = sides.exporter.context, sides.exporter.device

    def made(desc: ze.IpcMemHandleTypeExtDesc) -> int:
        if kind == "device":
            return context.mem_alloc_device(device, PAGE, desc=ze.DeviceMemAllocDesc(p_next=[desc]))
        return context.mem_alloc_host(PAGE, desc=ze.HostMemAllocDesc(p_next=[desc]))

    with fails("UNSUPPORTED_FEATURE", "fabric"):
        made(FABRIC)
    pointer = made(DEFAULT)

    assert sides.importer.open(context.mem_get_ipc_handle(pointer))
    with fails("UNSUPPORTED_FEATURE", "fabric"):
        context.mem_get_ipc_handle_with_properties(pointer, [FABRIC])


@pytest.mark.parametrize("host", [False, True])
def test_physical_object_in_place_of_a_pointer_is_exported_whole(sides: Sides, host: bool) -> None:
    exporter, importer = sides.exporter, sides.importer
    source = exporter.physical(2 * PAGE, host=host)
    handle = exporter.context.mem_get_ipc_handle(source)
    assert exporter.context.mem_get_ipc_handle(source) == handle
    opened = importer.open(handle)
    assert importer.context.mem_get_address_range(opened) == (opened, 2 * PAGE)
    importer.context.memory_write(opened + PAGE, b"from afar")

    va = exporter.context.virtual_mem_reserve(PAGE)
    exporter.context.virtual_mem_map(va, PAGE, source, offset=PAGE)

    assert exporter.context.memory_read(va, 9) == b"from afar"
    exporter.context.virtual_mem_free(va, PAGE)
    exporter.context.physical_mem_destroy(source)
    with fails("INVALID_ARGUMENT"):
        exporter.context.mem_get_ipc_handle(source)
    assert importer.context.memory_read(importer.open(handle) + PAGE, 9) == b"from afar"


def test_range_over_a_physical_object_has_no_address(sides: Sides) -> None:
    source = sides.exporter.physical(PAGE)

    with fails("INVALID_ARGUMENT", "address"):
        sides.exporter.context.mem_get_ipc_handle_with_properties(
            source, [ze.IpcPhysMemHandleRangeExtDesc(PAGE)]
        )


@pytest.mark.decision("C9", "C28")
def test_put_by_others_through_any_context_does_no_harm(sides: Sides) -> None:
    exporter, importer = sides.exporter, sides.importer
    pointer = allocate(exporter, "device", PAGE)
    handle = exporter.context.mem_get_ipc_handle(pointer)

    importer.context.mem_put_ipc_handle(handle)
    opened = importer.open(handle)
    with exporter.driver.create_context() as other:
        other.mem_put_ipc_handle(handle)
    exporter.context.mem_put_ipc_handle(handle)

    with fails("INVALID_ARGUMENT"):
        importer.open(handle)
    importer.close(opened)


def test_get_and_put_of_exported_memory_ask_the_device_nothing(sides: Sides) -> None:
    context = sides.exporter.context
    pointer = allocate(sides.exporter, "device", PAGE)
    handle = context.mem_get_ipc_handle(pointer)
    with sides.pair.hold():
        before = sides.pair.now
        for _ in range(1000):
            context.mem_get_ipc_handle(pointer)
            context.mem_put_ipc_handle(handle)
        assert sides.pair.now == before


@pytest.mark.case("I01", "I15")
@pytest.mark.parametrize("kind", KINDS)
def test_one_handle_opened_many_times_gives_as_many_pointers(sides: Sides, kind: str) -> None:
    exporter, importer = sides.exporter, sides.importer
    pointer = allocate(exporter, kind, PAGE)
    handle = exporter.context.mem_get_ipc_handle(pointer)
    importer.close(importer.open(handle))
    descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only

    opened = [importer.open(handle) for _ in range(400)]

    assert len(set(opened)) == 400
    assert len(os.listdir("/proc/self/fd")) == descriptors  # noqa: PTH208 - names only
    importer.context.memory_write(opened[0], b"one memory")
    assert importer.context.memory_read(opened[-1], 10) == b"one memory"
    for one in opened:
        importer.close(one)
    exporter.context.mem_free(pointer)
    sides.pair.assert_nothing_left()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_opens_and_closes_leave_nothing(sides: Sides, kind: str) -> None:
    exporter, importer = sides.exporter, sides.importer
    pointer = allocate(exporter, kind, 3 * PAGE)
    handle = exporter.context.mem_get_ipc_handle(pointer)
    first = importer.open(handle)
    importer.close(first)
    before = sides.pair.statistics()
    with open("/proc/self/maps") as maps:  # noqa: PTH123
        mappings = len(maps.readlines())

    pointers = [importer.open(handle) for _ in range(2000)]
    assert len(set(pointers)) == 2000
    for one in pointers:
        importer.close(one)
    for _ in range(3000):
        importer.close(importer.open(handle))

    assert importer.open(handle) == first
    importer.close(first)
    after = sides.pair.statistics()
    assert (after.free_bytes, after.import_count) == (before.free_bytes, before.import_count)
    with open("/proc/self/maps") as maps:  # noqa: PTH123
        assert len(maps.readlines()) <= mappings + 2


@pytest.mark.decision("C25")
@pytest.mark.error("MemCloseIpcHandle", "IA", "NP")
def test_only_the_pointer_that_was_opened_closes_once(sides: Sides) -> None:
    exporter, importer = sides.exporter, sides.importer
    pointer = allocate(exporter, "host", 2 * PAGE)
    opened = importer.open(exporter.context.mem_get_ipc_handle(pointer))
    own = allocate(importer, "host", PAGE)

    for wrong in (opened + 1, opened + PAGE, own, 0x1000):
        with fails("INVALID_ARGUMENT"):
            importer.close(wrong)
    with fails("INVALID_NULL_POINTER"):
        importer.context.mem_close_ipc_handle(None)
    importer.close(opened)
    with fails("INVALID_ARGUMENT"):
        importer.close(opened)
    with fails("INVALID_ARGUMENT"):
        exporter.close(pointer)
