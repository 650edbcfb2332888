"""Getting and putting handles: windows, the one handle of a mapping, and every refusal."""

import pytest

from firmware.abi.control import Export, Unmap
from firmware.abi.ipc import ExportKind, IpcHandle, Ticket
from firmware.abi.status import Status
from hostdriver.api import exporting, opening, virtual_memory
from hostdriver.api.structures import (
    ChainedDesc,
    IpcMemHandleTypeExtDesc,
    IpcPhysMemHandleRangeExtDesc,
    PhysicalMemDesc,
    UnknownDesc,
)
from hostdriver.core.enums import IpcMemHandleTypeFlags
from hostdriver.core.questions import MakeTicket
from hostdriver.core.state import DriverState
from hostdriver.testing.pair import Pair
from tests.harness.fake_session import FakeSession
from tests.harness.levelzero import HOST, PAGE, fails, map_at, mapped, physical, reserve, window

FABRIC = IpcMemHandleTypeExtDesc(IpcMemHandleTypeFlags.FABRIC_ACCESSIBLE)


@pytest.mark.sentence("RANGE-03", "RANGE-04", "RANGE-24")
def test_handle_of_a_window_says_offset_size_and_process(session: FakeSession) -> None:
    state = session.state(pid=4711)
    va = mapped(session, state, 2)

    handle = IpcHandle.unpack(window(session, state, va + 4097, PAGE + 5))

    assert isinstance(handle, IpcHandle)
    assert (handle.kind, handle.offset, handle.size_bytes) == (ExportKind.RANGE, 1, PAGE + 5)
    assert handle.pid == 4711
    assert handle.emulator_id == state.emulator_id
    (command,) = session.commands(Export)
    assert (command.va, command.size_bytes) == (va + 4097, PAGE + 5)


def test_descriptor_of_the_handle_identifies_the_export(
    session: FakeSession, state: DriverState
) -> None:
    handle = IpcHandle.unpack(window(session, state, mapped(session, state), 10))
    assert isinstance(handle, IpcHandle)

    ticket = Ticket.unpack(session.tickets[handle.descriptor].content)

    assert isinstance(ticket, Ticket)
    assert (ticket.token, ticket.size_bytes) == (handle.token, 10)


def test_every_get_of_a_window_is_a_handle_of_its_own(
    session: FakeSession, state: DriverState
) -> None:
    va = mapped(session, state)

    assert window(session, state, va, 10) != window(session, state, va, 10)
    assert len(state.exports) == 2


@pytest.mark.sentence("RANGE-10")
def test_window_may_span_reservations_and_objects(session: FakeSession, state: DriverState) -> None:
    first = reserve(session, state, PAGE)
    second = reserve(session, state, PAGE, first + PAGE)
    assert second == first + PAGE
    source = physical(session, state, 2 * PAGE)
    map_at(session, state, first, source, PAGE, PAGE)
    map_at(session, state, second, source, PAGE, PAGE)

    window(session, state, first, 2 * PAGE)

    with fails("ADDRESS_NOT_FOUND"):
        window(session, state, first, 2 * PAGE + 1)


@pytest.mark.sentence("RANGE-08", "RANGE-09", "RANGE-16")
@pytest.mark.error("MemGetIpcHandleWithProperties", "ANF")
@pytest.mark.decision("C29")
@pytest.mark.case("R03")
def test_hole_is_address_not_found(session: FakeSession, state: DriverState) -> None:
    va = reserve(session, state, 4 * PAGE)
    source = physical(session, state, PAGE)
    for page in (0, 1, 3):
        map_at(session, state, va + page * PAGE, source)

    with fails("ADDRESS_NOT_FOUND", hex(va + 2 * PAGE)):
        window(session, state, va, 4 * PAGE)
    window(session, state, va, 2 * PAGE)
    with fails("ADDRESS_NOT_FOUND"):
        window(session, state, va + 2 * PAGE, PAGE)
    with fails("ADDRESS_NOT_FOUND"):
        window(session, state, 1 << 40, PAGE)


def test_memory_of_the_driver_itself_is_no_part_of_a_window(world: Pair) -> None:
    context, device = world.driver.create_context(), world.driver.devices[0]
    first = context.mem_alloc_device(device, PAGE)
    context.memory_read(first, 1)
    context.mem_free(first)
    (lane,) = world.driver.look(lambda state: state.devices[0].lanes.idle)
    assert lane.stage is not None
    behind = lane.stage.va
    start = context.virtual_mem_reserve(PAGE, behind - PAGE)
    assert start == behind - PAGE
    context.virtual_mem_map(start, PAGE, context.physical_mem_create(device, PhysicalMemDesc(PAGE)))

    for size in (PAGE + 1, 2 * PAGE):
        with fails("ADDRESS_NOT_FOUND", hex(behind)):
            context.mem_get_ipc_handle_with_properties(start, [IpcPhysMemHandleRangeExtDesc(size)])
    context.mem_get_ipc_handle_with_properties(start, [IpcPhysMemHandleRangeExtDesc(PAGE)])


@pytest.mark.decision("C13")
@pytest.mark.case("D11")
def test_window_past_the_end_of_all_addresses_is_not_found(
    session: FakeSession, state: DriverState
) -> None:
    va = mapped(session, state)

    with fails("ADDRESS_NOT_FOUND", "end of the address space"):
        window(session, state, va, (1 << 64) - va + 1)


@pytest.mark.decision("C31b")
def test_memory_that_was_opened_is_refused_before_a_hole_is(
    session: FakeSession, state: DriverState
) -> None:
    va = mapped(session, state)
    opened = session.run(opening.open_handle(state, 0, window(session, state, va, PAGE)))

    for start, size in ((opened, 10), (opened - PAGE, 2 * PAGE), (opened, 100 * PAGE)):
        with fails("INVALID_ARGUMENT", "opened from a handle"):
            window(session, state, start, size)
    with fails("INVALID_ARGUMENT"):
        session.run(exporting.get_handle(state, opened))


@pytest.mark.sentence("RANGE-19", "RANGE-21", "RANGE-22")
@pytest.mark.error("MemGetIpcHandleWithProperties", "NP", "IS", "UF")
@pytest.mark.decision("C30")
@pytest.mark.case("R15")
def test_window_errors_in_their_order(session: FakeSession, state: DriverState) -> None:
    va = mapped(session, state)
    for size in (0, -1):
        with fails("INVALID_NULL_POINTER"):
            window(session, state, None, size)
        with fails("INVALID_SIZE"):
            window(session, state, va, size)
    off = session.state(extensions=0)
    with fails("INVALID_NULL_POINTER"):
        window(session, off, 0, 0)
    with fails("UNSUPPORTED_FEATURE", "ZE_extension_ipc_phys_mem_handle_range"):
        window(session, off, va, 0)
    assert session.commands(Export) == []


@pytest.mark.sentence("RANGE-20")
@pytest.mark.error("MemGetIpcHandleWithProperties", "US")
@pytest.mark.parametrize(
    ("status", "name"),
    [
        (Status.LIMIT, "UNSUPPORTED_SIZE"),
        (Status.NOT_MAPPED, "ADDRESS_NOT_FOUND"),
        (Status.NOT_EXPORTABLE, "INVALID_ARGUMENT"),
        (Status.OUT_OF_HOST_MEMORY, "OUT_OF_HOST_MEMORY"),
    ],
)
def test_refusal_of_the_device_leaves_no_export(
    session: FakeSession, state: DriverState, status: Status, name: str
) -> None:
    va = mapped(session, state)
    session.refuse(Export, status, detail=1024)

    with fails(name):
        window(session, state, va, PAGE)
    assert len(state.exports) == 0
    assert session.tickets == {}


def test_no_descriptor_for_the_handle_undoes_the_export(
    session: FakeSession, state: DriverState
) -> None:
    va = mapped(session, state)
    session.script(MakeTicket, "Too many open files (RLIMIT_NOFILE)")

    with fails("OUT_OF_HOST_MEMORY", "RLIMIT_NOFILE"):
        window(session, state, va, PAGE)
    assert session.device.exports == {}
    assert len(state.exports) == 0


@pytest.mark.sentence("API-02", "RANGE-38")
@pytest.mark.case("R15")
def test_both_descriptors_may_be_chained_in_either_order(
    session: FakeSession, state: DriverState
) -> None:
    va = mapped(session, state)
    chain = [IpcMemHandleTypeExtDesc(), IpcPhysMemHandleRangeExtDesc(100)]
    for order in (chain, chain[::-1]):
        handle = IpcHandle.unpack(session.run(exporting.get_handle(state, va, order)))
        assert isinstance(handle, IpcHandle)
        assert handle.size_bytes == 100


@pytest.mark.sentence("RANGE-38")
@pytest.mark.decision("C35")
@pytest.mark.parametrize("position", [0, 1])
def test_fabric_handle_is_unsupported_in_either_order(
    session: FakeSession, state: DriverState, position: int
) -> None:
    chain: list[IpcMemHandleTypeExtDesc | IpcPhysMemHandleRangeExtDesc]
    chain = [IpcPhysMemHandleRangeExtDesc(100)]
    chain.insert(position, FABRIC)

    with fails("UNSUPPORTED_FEATURE", "fabric"):
        session.run(exporting.get_handle(state, mapped(session, state), chain))


@pytest.mark.sentence("HANDLETYPE-01", "HANDLETYPE-05")
@pytest.mark.decision("C22")
def test_unknown_handle_type_is_an_invalid_enumeration(
    session: FakeSession, state: DriverState
) -> None:
    odd = IpcMemHandleTypeExtDesc(IpcMemHandleTypeFlags(8))

    with fails("INVALID_ENUMERATION", "0x8"):
        session.run(exporting.get_handle(state, mapped(session, state), [odd]))


@pytest.mark.decision("C18", profile="both")
def test_unknown_structure_is_ignored_or_refused_by_profile(
    session: FakeSession, state: DriverState, intel: DriverState
) -> None:
    chain: list[ChainedDesc | UnknownDesc]
    chain = [UnknownDesc(0x20001), IpcPhysMemHandleRangeExtDesc(100)]
    session.run(exporting.get_handle(state, mapped(session, state), chain))
    assert "0x20001" in state.note

    with fails("UNSUPPORTED_ENUMERATION"):
        session.run(exporting.get_handle(intel, mapped(session, intel), chain))


@pytest.mark.decision("C8", profile="both")
def test_kinds_of_memory_mix_or_not_by_profile(session: FakeSession) -> None:
    for profile in (0, 1):
        state = session.state(profile=profile)
        va = reserve(session, state, 2 * PAGE)
        map_at(session, state, va, physical(session, state, PAGE))
        map_at(session, state, va + PAGE, physical(session, state, PAGE, HOST))
        if profile:
            with fails("INVALID_ARGUMENT", "both device and host"):
                window(session, state, va, 2 * PAGE)
        else:
            window(session, state, va, 2 * PAGE)


def test_objects_of_two_devices_make_no_window() -> None:
    session = FakeSession(device_count=2)
    state = session.state()
    va = reserve(session, state, 2 * PAGE)
    for index in range(2):
        map_at(session, state, va + index * PAGE, physical(session, state, PAGE, device=index))

    with fails("INVALID_ARGUMENT", "more than one device"):
        window(session, state, va, 2 * PAGE)
    session.run(virtual_memory.free(state, va, 2 * PAGE))
    assert len(session.commands(Unmap)) == 2
