"""Residency, atomic access attributes, and memory that does not fit."""

from collections.abc import Generator

import pytest

from firmware.abi.control import Protect
from firmware.abi.ids import READ_WRITE, Rights
from hostdriver import levelzero as ze
from hostdriver.api import allocation, atomics
from hostdriver.core.state import DriverState
from hostdriver.testing.pair import DeviceSpec, Pair, pair
from tests.harness.fake_session import FakeSession
from tests.harness.levelzero import fails

MIB = 1 << 20
Atomic = ze.MemoryAtomicAttrExpFlags


@pytest.fixture(name="world")
def make_world() -> Generator[Pair]:
    with pair(DeviceSpec(vram_size=64 << 20, max_allocation_size=32 << 20)) as world:
        yield world


@pytest.mark.error("ContextMakeMemoryResident", "NH", "NP", "IA")
@pytest.mark.error("ContextEvictMemory", "NH", "NP")
def test_residency_is_checked_and_changes_nothing(context: ze.Context, device: ze.Device) -> None:
    pointers = [
        context.mem_alloc_device(device, MIB),
        context.mem_alloc_host(MIB),
        context.mem_alloc_shared(MIB),
    ]
    for call in (context.make_memory_resident, context.evict_memory):
        for pointer in pointers:
            call(device, pointer, MIB)
            call(device, pointer + 5, MIB - 5)
            call(device, pointer, MIB)
            with fails("INVALID_ARGUMENT", f"{pointer + MIB:#x}"):
                call(device, pointer + 5, MIB)
        with fails("INVALID_NULL_HANDLE"):
            call(None, None, 1)
        with fails("INVALID_NULL_POINTER"):
            call(device, None, 1)
        with fails("INVALID_ARGUMENT", "0x1234"):
            call(device, 0x1234, 1)
    for pointer in pointers:
        assert context.memory_read(pointer, 2) == b"\0\0"


@pytest.mark.error("ContextMakeImageResident", "NH")
@pytest.mark.error("ContextEvictImage", "NH")
def test_images_are_refused(context: ze.Context, device: ze.Device) -> None:
    for call in (context.make_image_resident, context.evict_image):
        with fails("INVALID_NULL_HANDLE", "hDevice"):
            call(None, None)
        with fails("INVALID_NULL_HANDLE", "hImage"):
            call(device, None)
        with fails("INVALID_ARGUMENT", "images"):
            call(device, object())


def test_mapped_memory_may_be_made_resident(context: ze.Context, device: ze.Device) -> None:
    page = 64 << 10
    va = context.virtual_mem_reserve(page)
    with fails("INVALID_ARGUMENT"):
        context.make_memory_resident(device, va, page)
    physical = context.physical_mem_create(device, ze.PhysicalMemDesc(page))
    context.virtual_mem_map(va, page, physical)

    context.make_memory_resident(device, va, page)


@pytest.mark.case("A03")
def test_allocations_that_are_too_large_together_leave_the_others_usable(
    context: ze.Context, device: ze.Device
) -> None:
    first, second = (context.mem_alloc_device(device, 25 * MIB) for _ in range(2))

    with fails("OUT_OF_DEVICE_MEMORY"):
        context.mem_alloc_device(device, 25 * MIB)

    for pointer in (first, second):
        context.memory_fill(pointer, b"x", 25 * MIB)
        assert context.memory_read(pointer + 25 * MIB - 1, 1) == b"x"
    context.mem_free(first)
    assert context.mem_alloc_device(device, 25 * MIB)


@pytest.mark.sentence("LIMITS-01")
def test_relaxed_memory_is_whole(context: ze.Context, device: ze.Device) -> None:
    flags = ze.RelaxedAllocationLimitsExtFlags.MAX_SIZE
    desc = ze.DeviceMemAllocDesc(p_next=[ze.RelaxedAllocationLimitsExtDesc(flags)])
    with fails("UNSUPPORTED_SIZE"):
        context.mem_alloc_device(device, 40 * MIB)

    pointer = context.mem_alloc_device(device, 40 * MIB, desc=desc)

    context.memory_write(pointer + 40 * MIB - 3, b"end")
    assert context.memory_read(pointer + 40 * MIB - 3, 3) == b"end"


@pytest.mark.sentence("COMPRESS-01", "COMPRESS-02")
@pytest.mark.parametrize("flags", list(ze.MemoryCompressionHintsExtFlags))
def test_hinted_memory_reads_back_as_it_was_written(
    context: ze.Context, device: ze.Device, flags: ze.MemoryCompressionHintsExtFlags
) -> None:
    chain = [ze.MemoryCompressionHintsExtDesc(flags)]
    text = bytes(range(256)) * 300
    for pointer in (
        context.mem_alloc_device(device, len(text), desc=ze.DeviceMemAllocDesc(p_next=chain)),
        context.mem_alloc_host(len(text), desc=ze.HostMemAllocDesc(p_next=chain)),
    ):
        context.memory_write(pointer, text)
        assert context.memory_read(pointer, len(text)) == text


def shared(session: FakeSession, state: DriverState, flags: int = 0) -> int:
    host = ze.HostMemAllocDesc(ze.HostMemAllocFlags(flags))
    device = ze.DeviceMemAllocDesc()
    return session.run(allocation.allocate_shared(state, device, host, 100, 0, None))


@pytest.mark.parametrize(
    ("attr", "rights"),
    [
        (Atomic.NO_ATOMICS, READ_WRITE),
        (Atomic.HOST_ATOMICS, READ_WRITE),
        (Atomic.NO_DEVICE_ATOMICS | Atomic.HOST_ATOMICS, READ_WRITE),
        (Atomic.DEVICE_ATOMICS, READ_WRITE | Rights.ATOMIC),
        (Atomic.SYSTEM_ATOMICS, READ_WRITE | Rights.ATOMIC),
        (Atomic(0), READ_WRITE | Rights.ATOMIC),
    ],
)
def test_attribute_is_kept_and_changes_what_the_device_may_do(
    session: FakeSession, state: DriverState, attr: Atomic, rights: Rights
) -> None:
    pointer = shared(session, state)
    assert atomics.get_attribute(state, 0, pointer, 100) == atomics.DEFAULT

    session.run(atomics.set_attribute(state, 0, pointer, 100, attr))

    assert atomics.get_attribute(state, 0, pointer, 100) == (attr or atomics.DEFAULT)
    (command,) = session.commands(Protect)
    assert (command.va, command.size_bytes, command.rights) == (pointer, 4096, rights)


@pytest.mark.error("MemSetAtomicAccessAttributeExp", "NH", "NP", "IE", "UE")
@pytest.mark.error("MemGetAtomicAccessAttributeExp", "NH", "NP")
def test_errors_of_atomic_attributes_in_their_order(
    session: FakeSession, state: DriverState
) -> None:
    desc = ze.HostMemAllocDesc()
    host = session.run(allocation.allocate_host(state, desc, 100, 0))
    pointer = shared(session, state)
    cases: list[tuple[int | None, int | None, int, int, str]] = [
        (None, None, 0, 0x80, "INVALID_NULL_HANDLE"),
        (0, None, 0, 0x80, "INVALID_NULL_POINTER"),
        (0, pointer, 0, 0x80, "INVALID_ENUMERATION"),
        (0, pointer, 0, 0x6, "UNSUPPORTED_ENUMERATION"),
        (0, pointer, 0, 0x11, "UNSUPPORTED_ENUMERATION"),
        (0, pointer, 0, 0x10, "UNSUPPORTED_SIZE"),
        (0, pointer, 99, 0x10, "INVALID_ARGUMENT"),
        (0, pointer + 1, 99, 0x10, "INVALID_ARGUMENT"),
        (0, host, 100, 0x10, "INVALID_ARGUMENT"),
        (0, 0x1234, 100, 0x10, "INVALID_ARGUMENT"),
    ]
    for device, at, size, attr, name in cases:
        with fails(name):
            session.run(atomics.set_attribute(state, device, at, size, attr))
        if name not in ("INVALID_ENUMERATION", "UNSUPPORTED_ENUMERATION"):
            with fails(name):
                atomics.get_attribute(state, device, at, size)


def test_memory_that_devices_only_read_has_no_atomics_of_theirs(
    session: FakeSession, state: DriverState
) -> None:
    pointer = shared(session, state, ze.HostMemAllocFlags.MEM_READ_ONLY)

    assert atomics.get_attribute(state, 0, pointer, 100) == Atomic.HOST_ATOMICS
    with fails("INVALID_ARGUMENT"):
        session.run(atomics.set_attribute(state, 0, pointer, 100, Atomic.DEVICE_ATOMICS))
    session.run(atomics.set_attribute(state, 0, pointer, 100, Atomic.NO_ATOMICS))
    assert atomics.get_attribute(state, 0, pointer, 100) == Atomic.NO_ATOMICS
    assert session.commands(Protect) == []


def test_attribute_reaches_the_page_tables(world: Pair, context: ze.Context) -> None:
    device = world.driver.devices[0]
    pointer = context.mem_alloc_shared(100)

    context.mem_set_atomic_access_attribute_exp(device, pointer, 100, Atomic.NO_ATOMICS)

    got = context.mem_get_atomic_access_attribute_exp(device, pointer, 100)
    assert got == Atomic.NO_ATOMICS
    assert context.memory_read(pointer, 1) == b"\0"
    world.check()
