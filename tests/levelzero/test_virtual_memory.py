"""Reserving addresses, freeing, unmapping, and access attributes."""

import pytest

from firmware.abi.control import ExportPut, Protect, ProtectList, RangeExtent, Unmap
from firmware.abi.ids import ALL_RIGHTS, Rights
from firmware.abi.status import Status
from hostdriver.api import exporting, mapping, virtual_memory
from hostdriver.core.enums import MemoryAccessAttribute as Access
from hostdriver.core.questions import Control, ProtectNone, Release, Reserve
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.core.state import DriverState
from tests.harness.fake_session import ARENA, FakeSession, Steps
from tests.harness.levelzero import HOST, LARGE, PAGE, fails, map_at, mapped, physical, reserve

KIB = 1 << 10


def free_bytes(state: DriverState) -> int:
    assert state.arena is not None
    return state.arena.statistics().free_bytes


@pytest.mark.parametrize(
    ("size", "page"),
    [
        (1, PAGE),
        (4096, PAGE),
        (PAGE, PAGE),
        (LARGE - 1, PAGE),
        (LARGE, LARGE),
        (LARGE + 1, LARGE),
        (1 << 30, LARGE),
    ],
)
def test_page_size_is_64_kib_below_2_mib(state: DriverState, size: int, page: int) -> None:
    assert virtual_memory.query_page_size(state, 0, size) == page


@pytest.mark.error("VirtualMemQueryPageSize", "NH", "US")
def test_page_size_errors(state: DriverState) -> None:
    with fails("INVALID_NULL_HANDLE", "hDevice"):
        virtual_memory.query_page_size(state, None, 0)
    with fails("INVALID_ARGUMENT", "device 1"):
        virtual_memory.query_page_size(state, 1, 4096)
    with fails("UNSUPPORTED_SIZE", "size is 0"):
        virtual_memory.query_page_size(state, 0, 0)


def test_reservation_is_aligned_and_has_no_access(session: FakeSession, state: DriverState) -> None:
    small, large = reserve(session, state, 4096), reserve(session, state, 3 * LARGE)

    assert small % PAGE == large % LARGE == 0
    assert virtual_memory.get_access(state, large, LARGE) == (Access.NONE, 3 * LARGE)
    state.check()


@pytest.mark.error("VirtualMemReserve", "US")
@pytest.mark.parametrize("size", [0, 1, 4097, PAGE + 1])
def test_reservation_of_odd_size_is_refused(
    session: FakeSession, state: DriverState, size: int
) -> None:
    with fails("UNSUPPORTED_SIZE", hex(size) if size else "0"):
        reserve(session, state, size)
    assert free_bytes(state) == ARENA[1]


@pytest.mark.parametrize("size", [1 << 47, 1 << 48, 1 << 56, 1 << 63])
def test_reservation_that_no_address_space_holds_is_out_of_memory(
    session: FakeSession, state: DriverState, size: int
) -> None:
    session.script(Reserve, None)

    with fails("OUT_OF_HOST_MEMORY", hex(size)):
        reserve(session, state, size)


def test_wished_address_is_honoured_when_free(session: FakeSession, state: DriverState) -> None:
    first = reserve(session, state, PAGE)
    session.run(virtual_memory.free(state, first, PAGE))

    assert reserve(session, state, PAGE, first) == first
    assert reserve(session, state, PAGE, first) != first
    assert reserve(session, state, PAGE, 0x7FFF_0000) == 0x7FFF_0000


def test_wished_address_is_rounded_up_to_the_page(session: FakeSession, state: DriverState) -> None:
    assert reserve(session, state, PAGE, 0x7FFF_0001) == 0x8000_0000
    assert reserve(session, state, LARGE, 0x8FEF_0000) == 0x9000_0000


def test_wished_address_beyond_every_address_space_is_only_a_wish(
    session: FakeSession, state: DriverState
) -> None:
    assert reserve(session, state, PAGE, (1 << 64) - 1) in range(ARENA[0], sum(ARENA))


def test_free_gives_the_addresses_back(session: FakeSession, state: DriverState) -> None:
    va = reserve(session, state, PAGE)
    outside = reserve(session, state, PAGE, 0x7FFF_0000)

    session.run(virtual_memory.free(state, va, PAGE))
    session.run(virtual_memory.free(state, outside, PAGE))

    assert free_bytes(state) == ARENA[1]
    assert session.asked[-1] == Release(0x7FFF_0000, PAGE)
    assert len(state.reservations) == 0


def test_free_unmaps_and_keeps_the_physical_objects(
    session: FakeSession, state: DriverState
) -> None:
    source = physical(session, state, PAGE)
    va = reserve(session, state, 2 * PAGE)
    map_at(session, state, va, source)

    session.run(virtual_memory.free(state, va, 2 * PAGE))

    assert source.mapping_count == 0
    assert [(c.va, c.size_bytes) for c in session.commands(Unmap)] == [(va, PAGE)]
    assert list(state.physical.values()) == [source]
    state.check()


@pytest.mark.error("VirtualMemFree", "NP", "US", "UA", "IA")
def test_free_errors(session: FakeSession, state: DriverState) -> None:
    va = reserve(session, state, 2 * PAGE)
    cases = [
        (None, 0, "INVALID_NULL_POINTER"),
        (0, PAGE, "INVALID_NULL_POINTER"),
        (va, 0, "UNSUPPORTED_SIZE"),
        (va, 4097, "UNSUPPORTED_SIZE"),
        (va + 1, 2 * PAGE, "UNSUPPORTED_ALIGNMENT"),
        (va, PAGE, "INVALID_ARGUMENT"),
        (va + PAGE, PAGE, "INVALID_ARGUMENT"),
        (va, 3 * PAGE, "INVALID_ARGUMENT"),
        (1 << 40, PAGE, "INVALID_ARGUMENT"),
        (1 << 64, PAGE, "INVALID_ARGUMENT"),
    ]
    for ptr, size, name in cases:
        with fails(name):
            session.run(virtual_memory.free(state, ptr, size))
    assert len(state.reservations) == 1


def test_free_while_another_call_maps_is_refused(session: FakeSession, state: DriverState) -> None:
    va = reserve(session, state, PAGE)
    source = physical(session, state, PAGE)
    steps = Steps(session, mapping.map_memory(state, va, PAGE, source, 0, Access.READWRITE))
    assert isinstance(steps.question, Control)

    with fails("INVALID_ARGUMENT", "another thread"):
        session.run(virtual_memory.free(state, va, PAGE))
    with fails("INVALID_ARGUMENT", "another thread"):
        session.run(virtual_memory.set_access(state, va, PAGE, Access.READONLY))

    steps.finish()
    session.run(virtual_memory.free(state, va, PAGE))
    state.check()


def test_nothing_is_mapped_into_what_is_being_freed(
    session: FakeSession, state: DriverState
) -> None:
    va = mapped(session, state)
    source = physical(session, state, PAGE)
    steps = Steps(session, virtual_memory.free(state, va, PAGE))

    for operation in (
        mapping.map_memory(state, va, PAGE, source, 0, Access.READWRITE),
        virtual_memory.free(state, va, PAGE),
        virtual_memory.unmap(state, va, PAGE),
    ):
        with fails("INVALID_ARGUMENT"):
            session.run(operation)

    steps.finish()
    state.check()


def test_free_that_fails_leaves_everything(session: FakeSession, state: DriverState) -> None:
    va = mapped(session, state)
    session.script(Unmap, ZeError(ZeResult.ZE_RESULT_ERROR_DEVICE_LOST, "the device is gone"))

    with fails("DEVICE_LOST"):
        session.run(virtual_memory.free(state, va, PAGE))
    session.run(virtual_memory.free(state, va, PAGE))

    assert len(state.mappings) == 0


def test_refusal_to_unmap_leaves_everything(session: FakeSession, state: DriverState) -> None:
    va = mapped(session, state)
    session.refuse(Unmap, Status.OUT_OF_DEVICE_MEMORY)

    with fails("OUT_OF_DEVICE_MEMORY", hex(va)):
        session.run(virtual_memory.unmap(state, va, PAGE))
    session.run(virtual_memory.unmap(state, va, PAGE))

    state.check()


@pytest.mark.decision("C5")
def test_unmap_takes_whole_mappings_and_skips_holes(
    session: FakeSession, state: DriverState
) -> None:
    va = reserve(session, state, 8 * PAGE)
    one, two = physical(session, state, 2 * PAGE), physical(session, state, 2 * PAGE)
    map_at(session, state, va, one, 2 * PAGE)
    map_at(session, state, va + 3 * PAGE, two)
    map_at(session, state, va + 5 * PAGE, one, 2 * PAGE)

    session.run(virtual_memory.unmap(state, va + PAGE, 5 * PAGE))

    # The first and the last mapping cross an end of the range and stay.
    assert [entry.start - va for entry in state.mappings] == [0, 5 * PAGE]
    assert [(c.va - va, c.size_bytes) for c in session.commands(Unmap)] == [(3 * PAGE, PAGE)]
    assert (one.mapping_count, two.mapping_count) == (2, 0)
    session.run(virtual_memory.unmap(state, va, 8 * PAGE))
    assert len(state.mappings) == 0
    assert len(session.commands(Unmap)) == 2
    state.check()


def test_unmap_sets_access_back_to_none(session: FakeSession, state: DriverState) -> None:
    va = mapped(session, state, 2)

    session.run(virtual_memory.unmap(state, va, 2 * PAGE))

    assert virtual_memory.get_access(state, va, PAGE) == (Access.NONE, 2 * PAGE)


def test_unmap_of_nothing_is_success(session: FakeSession, state: DriverState) -> None:
    va = reserve(session, state, PAGE)

    session.run(virtual_memory.unmap(state, va, PAGE))

    assert session.asked == []


def test_unmap_ends_the_handle_of_the_mapping(session: FakeSession, state: DriverState) -> None:
    va = mapped(session, state)
    session.run(exporting.get_handle(state, va))

    session.run(virtual_memory.unmap(state, va, PAGE))

    assert len(session.commands(ExportPut)) == 1
    assert len(state.exports) == 0
    assert session.tickets == {}


def test_unmap_hides_host_memory_from_the_cpu(session: FakeSession, state: DriverState) -> None:
    va = reserve(session, state, PAGE)
    map_at(session, state, va, physical(session, state, 8192, HOST), 8192)

    session.run(virtual_memory.unmap(state, va, 8192))

    assert session.questions(ProtectNone) == [ProtectNone(va, 8192)]


@pytest.mark.error("VirtualMemUnmap", "NP", "US", "UA")
def test_unmap_errors(session: FakeSession, state: DriverState) -> None:
    va = mapped(session, state)
    cases = [
        (None, PAGE, "INVALID_NULL_POINTER"),
        (va, 0, "UNSUPPORTED_SIZE"),
        (va, PAGE + 1, "UNSUPPORTED_SIZE"),
        (va, 4096, "UNSUPPORTED_SIZE"),
        (va + 1, PAGE, "UNSUPPORTED_ALIGNMENT"),
        (va + 4096, PAGE, "UNSUPPORTED_ALIGNMENT"),
        (1 << 40, PAGE, "INVALID_ARGUMENT"),
    ]
    for ptr, size, name in cases:
        with fails(name):
            session.run(virtual_memory.unmap(state, ptr, size))
    assert len(state.mappings) == 1


def test_access_is_set_on_parts_and_read_back(session: FakeSession, state: DriverState) -> None:
    va = mapped(session, state, 4)

    session.run(virtual_memory.set_access(state, va + 2 * PAGE, PAGE, Access.READONLY))

    assert virtual_memory.get_access(state, va, 4 * PAGE) == (Access.READWRITE, 2 * PAGE)
    assert virtual_memory.get_access(state, va + 2 * PAGE, PAGE) == (Access.READONLY, PAGE)
    assert virtual_memory.get_access(state, va + 3 * PAGE, PAGE) == (Access.READWRITE, PAGE)
    (command,) = session.commands(Protect)
    assert (command.va, command.size_bytes, command.rights) == (va + 2 * PAGE, PAGE, Rights.READ)


@pytest.mark.parametrize(
    ("access", "rights"),
    [
        (Access.NONE, Rights.NONE),
        (Access.READWRITE, ALL_RIGHTS),
        (Access.READONLY, Rights.READ),
    ],
)
def test_each_attribute_has_its_rights(
    session: FakeSession, state: DriverState, access: Access, rights: Rights
) -> None:
    va = mapped(session, state)

    session.run(virtual_memory.set_access(state, va, PAGE, access))

    assert session.commands(Protect)[0].rights == rights


def test_access_of_a_bare_reservation_is_remembered(
    session: FakeSession, state: DriverState
) -> None:
    va = reserve(session, state, PAGE)
    for access in (Access.READWRITE, Access.READONLY, Access.NONE):
        session.run(virtual_memory.set_access(state, va, PAGE, access))

        assert virtual_memory.get_access(state, va, PAGE) == (access, PAGE)
    assert session.asked == []


def test_access_over_holes_is_one_command_with_all_mapped_pieces(
    session: FakeSession, state: DriverState
) -> None:
    va = reserve(session, state, 6 * PAGE)
    source = physical(session, state, PAGE)
    for page in (0, 1, 3):
        map_at(session, state, va + page * PAGE, source)

    session.run(virtual_memory.set_access(state, va, 6 * PAGE, Access.READONLY))

    (question,) = (q for q in session.questions(Control) if isinstance(q.command, ProtectList))
    extents = [RangeExtent.unpack(question.payload, at) for at in (0, RangeExtent.SIZE)]
    assert extents == [
        RangeExtent(va=va, size_bytes=2 * PAGE, rights=Rights.READ),
        RangeExtent(va=va + 3 * PAGE, size_bytes=PAGE, rights=Rights.READ),
    ]


def test_access_of_more_pieces_than_one_command_carries_is_refused(
    session: FakeSession, state: DriverState
) -> None:
    count = 4096 // RangeExtent.SIZE + 1
    va = reserve(session, state, 2 * count * PAGE)
    source = physical(session, state, PAGE)
    for number in range(count):
        map_at(session, state, va + 2 * number * PAGE, source)

    with fails("OUT_OF_HOST_MEMORY", "separate mappings"):
        session.run(virtual_memory.set_access(state, va, 2 * count * PAGE, Access.READONLY))
    assert virtual_memory.get_access(state, va, PAGE).access is Access.READWRITE


def test_access_that_the_device_refuses_stays(session: FakeSession, state: DriverState) -> None:
    va = mapped(session, state)
    session.refuse(Protect, Status.OUT_OF_DEVICE_MEMORY)

    with fails("OUT_OF_DEVICE_MEMORY"):
        session.run(virtual_memory.set_access(state, va, PAGE, Access.NONE))
    assert virtual_memory.get_access(state, va, PAGE).access is Access.READWRITE


@pytest.mark.error("VirtualMemSetAccessAttribute", "NP", "IE", "US", "UA")
@pytest.mark.error("VirtualMemGetAccessAttribute", "NP", "US", "UA")
def test_access_errors(session: FakeSession, state: DriverState) -> None:
    va = mapped(session, state)
    cases = [
        (None, PAGE, 9, "INVALID_NULL_POINTER"),
        (va, 0, 3, "INVALID_ENUMERATION"),
        (va + 1, 0, 1, "UNSUPPORTED_SIZE"),
        (va, PAGE - 1, 1, "UNSUPPORTED_SIZE"),
        (va + 1, PAGE, 1, "UNSUPPORTED_ALIGNMENT"),
        (va, 2 * PAGE, 1, "INVALID_ARGUMENT"),
        (1 << 40, PAGE, 1, "INVALID_ARGUMENT"),
    ]
    for ptr, size, access, name in cases:
        with fails(name):
            session.run(virtual_memory.set_access(state, ptr, size, access))
        if access == 1:
            with fails(name):
                virtual_memory.get_access(state, ptr, size)
    with fails("INVALID_NULL_POINTER"):
        virtual_memory.get_access(state, None, PAGE)


def test_host_memory_has_pages_of_4_kib(session: FakeSession, state: DriverState) -> None:
    va = reserve(session, state, PAGE)
    map_at(session, state, va, physical(session, state, 4 * 4096, HOST), 4 * 4096)

    session.run(virtual_memory.set_access(state, va + 4096, 4096, Access.READONLY))

    assert virtual_memory.get_access(state, va, 4096) == (Access.READWRITE, 4096)
    session.run(virtual_memory.unmap(state, va, 4 * 4096))
    assert len(state.mappings) == 0


def test_intel_tells_the_size_of_the_reservation(session: FakeSession, intel: DriverState) -> None:
    va = mapped(session, intel, 4)
    session.run(virtual_memory.set_access(intel, va, PAGE, Access.READONLY))

    assert virtual_memory.get_access(intel, va, PAGE) == (Access.READONLY, 4 * PAGE)
