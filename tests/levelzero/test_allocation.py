"""Allocations: what is asked of the device, every error, and what is left when a step fails."""

import pytest

from firmware.abi.control import Allocate, ObjectFlags, ObjectKind, Release, ReleaseMode
from firmware.abi.ids import ALL_RIGHTS, Rights
from firmware.abi.status import Status
from hostdriver.api import allocation, freeing, memory
from hostdriver.api.memory_structures import DeviceMemAllocDesc, HostMemAllocDesc
from hostdriver.api.structures import AddressRange, IpcMemHandleTypeExtDesc
from hostdriver.core.enums import DeviceMemAllocFlags, HostMemAllocFlags, IpcMemHandleTypeFlags
from hostdriver.core.questions import Answer, CloseDescriptor, MapDescriptor, ProtectNone
from hostdriver.core.state import DriverState
from tests.harness.fake_session import ARENA, FakeSession, allocated
from tests.harness.levelzero import LARGE, PAGE, fails

MIB = 1 << 20
FOUR_GIB = 4 << 30
DEVICE, HOST = DeviceMemAllocDesc(), HostMemAllocDesc()


def on_device(
    session: FakeSession,
    state: DriverState,
    size: int,
    alignment: int = 0,
    desc: DeviceMemAllocDesc | None = DEVICE,
    device: int | None = 0,
) -> int:
    operation = allocation.allocate_device(state, desc, size, alignment, device)
    return session.run(operation)


def on_host(
    session: FakeSession,
    state: DriverState,
    size: int,
    alignment: int = 0,
    desc: HostMemAllocDesc | None = HOST,
) -> int:
    return session.run(allocation.allocate_host(state, desc, size, alignment))


def shared(
    session: FakeSession,
    state: DriverState,
    size: int,
    alignment: int = 0,
    device_desc: DeviceMemAllocDesc | None = DEVICE,
    host_desc: HostMemAllocDesc | None = HOST,
    device: int | None = None,
) -> int:
    operation = allocation.allocate_shared(state, device_desc, host_desc, size, alignment, device)
    return session.run(operation)


MAKERS = [on_device, on_host, shared]
anyhow = pytest.mark.parametrize("make", MAKERS)


def arena_is_whole(state: DriverState) -> bool:
    assert state.arena is not None
    return state.arena.statistics().free_bytes == ARENA[1]


@pytest.mark.parametrize(
    ("size", "reserved", "page"),
    [(1, PAGE, PAGE), (PAGE, PAGE, PAGE), (PAGE + 1, 2 * PAGE, PAGE), (LARGE, LARGE, LARGE)],
)
def test_device_memory_takes_whole_pages_and_is_out_of_the_cpus_reach(
    session: FakeSession, state: DriverState, size: int, reserved: int, page: int
) -> None:
    pointer = on_device(session, state, size)

    (made,) = session.commands(Allocate)
    assert (made.kind, made.flags) == (ObjectKind.VRAM, ObjectFlags.NONE)
    assert (made.size_bytes, made.page_size) == (reserved, page)
    assert (made.va, made.rights) == (pointer, ALL_RIGHTS)
    assert pointer % page == 0
    assert session.questions(MapDescriptor) == []
    state.check()


@pytest.mark.parametrize("make", [on_host, shared])
def test_host_and_shared_memory_is_at_one_address_for_device_and_cpu(
    session: FakeSession, state: DriverState, make: type
) -> None:
    pointer = make(session, state, 4097)

    (made,) = session.commands(Allocate)
    (seen,) = session.questions(MapDescriptor)
    assert made.kind is ObjectKind.SYSTEM
    assert (made.va, made.size_bytes) == (seen.va, seen.size) == (pointer, 8192)
    assert [closed.descriptor for closed in session.questions(CloseDescriptor)] == [seen.descriptor]


def test_read_only_host_memory_is_read_only_to_the_device(
    session: FakeSession, state: DriverState
) -> None:
    desc = HostMemAllocDesc(HostMemAllocFlags.MEM_READ_ONLY)

    on_host(session, state, 1, desc=desc)

    (made,) = session.commands(Allocate)
    assert (made.flags, made.rights) == (ObjectFlags.READ_ONLY, Rights.READ)


@anyhow
@pytest.mark.case("A01")
def test_no_bytes_are_refused_and_one_is_enough(
    session: FakeSession, state: DriverState, make: type
) -> None:
    pointers = [make(session, state, 1) for _ in range(2)]

    with fails("UNSUPPORTED_SIZE"):
        make(session, state, 0)

    assert len(set(pointers)) == 2
    assert [memory.get_address_range(state, p) for p in pointers] == [(p, 1) for p in pointers]


@anyhow
@pytest.mark.case("A02")
@pytest.mark.parametrize("alignment", [3, 24, 4097, 12 << 20, (1 << 21) + 1])
def test_alignment_that_is_no_power_of_two_is_refused(
    session: FakeSession, state: DriverState, make: type, alignment: int
) -> None:
    with fails("UNSUPPORTED_ALIGNMENT", f"{alignment:#x}"):
        make(session, state, 1, alignment)


@anyhow
@pytest.mark.parametrize("shift", [0, 4, 12, 16, 21, 23, 30])
def test_pointer_has_the_alignment_that_was_asked_for(
    session: FakeSession, state: DriverState, make: type, shift: int
) -> None:
    on_device(session, state, 1)

    assert make(session, state, 1, 1 << shift) % (1 << shift) == 0


@anyhow
def test_address_range_is_that_of_the_allocation_from_any_pointer_into_it(
    session: FakeSession, state: DriverState, make: type
) -> None:
    pointer = make(session, state, 1000)

    for inside in (pointer, pointer + 1, pointer + 999):
        assert memory.get_address_range(state, inside) == AddressRange(pointer, 1000)
    with fails("ADDRESS_NOT_FOUND"):
        memory.get_address_range(state, pointer + 1000)


@anyhow
def test_free_takes_back_everything(session: FakeSession, state: DriverState, make: type) -> None:
    pointer = make(session, state, MIB)

    session.run(freeing.free(state, pointer))

    (released,) = session.commands(Release)
    assert (released.va, released.mode) == (pointer, ReleaseMode.BEHIND_WORK)
    assert len(session.questions(ProtectNone)) == len(session.questions(MapDescriptor))
    assert not len(state.allocations)
    assert arena_is_whole(state)
    with fails("INVALID_ARGUMENT", f"{pointer:#x}"):
        session.run(freeing.free(state, pointer))


@pytest.mark.error("MemAllocDevice", "NH", "NP", "IE", "UE", "US", "UA", "IA")
@pytest.mark.decision("C35b")
def test_errors_of_device_memory_in_their_order(session: FakeSession, state: DriverState) -> None:
    fabric = [IpcMemHandleTypeExtDesc(IpcMemHandleTypeFlags.FABRIC_ACCESSIBLE)]
    bad = DeviceMemAllocFlags(8)
    both = DeviceMemAllocFlags(3)
    cases: list[tuple[DeviceMemAllocDesc | None, int, int, int | None, str]] = [
        (None, 0, 3, None, "INVALID_NULL_HANDLE"),
        (None, 0, 3, 7, "INVALID_ARGUMENT"),
        (None, 0, 3, 0, "INVALID_NULL_POINTER"),
        (DeviceMemAllocDesc(bad, 1, fabric), 0, 3, 0, "UNSUPPORTED_FEATURE"),
        (DeviceMemAllocDesc(bad, 1), 0, 3, 0, "INVALID_ENUMERATION"),
        (DeviceMemAllocDesc(both, 1), 0, 3, 0, "UNSUPPORTED_ENUMERATION"),
        (DeviceMemAllocDesc(ordinal=1), 0, 3, 0, "UNSUPPORTED_SIZE"),
        (DeviceMemAllocDesc(ordinal=1), FOUR_GIB + 1, 3, 0, "UNSUPPORTED_SIZE"),
        (DeviceMemAllocDesc(ordinal=1), 1, 3, 0, "UNSUPPORTED_ALIGNMENT"),
        (DeviceMemAllocDesc(ordinal=1), 1, 1 << 60, 0, "UNSUPPORTED_ALIGNMENT"),
        (DeviceMemAllocDesc(ordinal=1), 1, 0, 0, "INVALID_ARGUMENT"),
    ]
    for desc, size, alignment, device, name in cases:
        with fails(name):
            on_device(session, state, size, alignment, desc, device)
    assert session.asked == []


@pytest.mark.error("MemAllocHost", "NP", "IE", "UE", "US", "UA")
@pytest.mark.decision("C35b")
def test_errors_of_host_memory_in_their_order(session: FakeSession, state: DriverState) -> None:
    fabric = [IpcMemHandleTypeExtDesc(IpcMemHandleTypeFlags.FABRIC_ACCESSIBLE)]
    flags = HostMemAllocFlags
    cases: list[tuple[HostMemAllocDesc | None, int, int, str]] = [
        (None, 0, 3, "INVALID_NULL_POINTER"),
        (HostMemAllocDesc(flags(0x20), fabric), 0, 3, "UNSUPPORTED_FEATURE"),
        (HostMemAllocDesc(flags(0x20)), 0, 3, "INVALID_ENUMERATION"),
        (HostMemAllocDesc(flags(0x14)), 0, 3, "UNSUPPORTED_ENUMERATION"),
        (HostMemAllocDesc(flags(0x03)), 0, 3, "UNSUPPORTED_ENUMERATION"),
        (HOST, 0, 3, "UNSUPPORTED_SIZE"),
        (HOST, FOUR_GIB + 1, 3, "UNSUPPORTED_SIZE"),
        (HOST, 1, 3, "UNSUPPORTED_ALIGNMENT"),
    ]
    for desc, size, alignment, name in cases:
        with fails(name):
            on_host(session, state, size, alignment, desc)
    assert session.asked == []


@pytest.mark.error("MemAllocShared", "NP", "IE", "UE", "US", "UA")
def test_errors_of_shared_memory_in_their_order(session: FakeSession, state: DriverState) -> None:
    wild = DeviceMemAllocDesc(DeviceMemAllocFlags(8))
    wild_host = HostMemAllocDesc(HostMemAllocFlags(0x20))
    unwritable = HostMemAllocDesc(HostMemAllocFlags(0x14))
    cases: list[
        tuple[DeviceMemAllocDesc | None, HostMemAllocDesc | None, int, int, int | None, str]
    ] = [
        (None, None, 0, 3, 7, "INVALID_ARGUMENT"),
        (None, wild_host, 0, 3, 0, "INVALID_NULL_POINTER"),
        (wild, None, 0, 3, 0, "INVALID_NULL_POINTER"),
        (wild, HOST, 0, 3, 0, "INVALID_ENUMERATION"),
        (DEVICE, wild_host, 0, 3, None, "INVALID_ENUMERATION"),
        (DEVICE, unwritable, 0, 3, None, "UNSUPPORTED_ENUMERATION"),
        (DEVICE, HOST, 0, 3, None, "UNSUPPORTED_SIZE"),
        (DEVICE, HOST, 1, 3, None, "UNSUPPORTED_ALIGNMENT"),
        (DeviceMemAllocDesc(ordinal=1), HOST, 1, 0, None, "INVALID_ARGUMENT"),
    ]
    for device_desc, host_desc, size, alignment, device, name in cases:
        with fails(name):
            shared(session, state, size, alignment, device_desc, host_desc, device)
    assert session.asked == []


@pytest.mark.error("MemFree", "NP", "IA")
def test_what_is_no_allocation_cannot_be_freed(session: FakeSession, state: DriverState) -> None:
    pointer = on_device(session, state, PAGE)

    with fails("INVALID_NULL_POINTER"):
        session.run(freeing.free(state, None))
    for wrong in (pointer + 1, pointer + PAGE, 0x1234):
        with fails("INVALID_ARGUMENT", f"{wrong:#x}"):
            session.run(freeing.free(state, wrong))
    assert memory.get_address_range(state, pointer).base == pointer


@anyhow
def test_memory_that_the_device_has_not_leaves_nothing(
    session: FakeSession, state: DriverState, make: type
) -> None:
    session.refuse(Allocate, Status.OUT_OF_DEVICE_MEMORY)

    with fails("OUT_OF_DEVICE_MEMORY"):
        make(session, state, MIB)

    assert session.commands(Release) == []
    assert arena_is_whole(state)
    assert make(session, state, MIB)


@pytest.mark.parametrize("make", [on_host, shared])
def test_mapping_that_fails_leaves_nothing(
    session: FakeSession, state: DriverState, make: type
) -> None:
    session.script(MapDescriptor, "no mappings left")

    with fails("OUT_OF_HOST_MEMORY", "no mappings left"):
        make(session, state, MIB)

    assert len(session.commands(Release)) == len(session.questions(CloseDescriptor)) == 1
    assert arena_is_whole(state)


@pytest.mark.parametrize("make", [on_host, shared])
def test_descriptor_that_did_not_come_leaves_nothing(
    session: FakeSession, state: DriverState, make: type
) -> None:
    session.script(Allocate, Answer(allocated(9, 1), problem="descriptors ran out"))

    with fails("OUT_OF_HOST_MEMORY", "descriptors ran out"):
        make(session, state, MIB)

    assert [command.object_id for command in session.commands(Release)] == [9]
    assert arena_is_whole(state)
