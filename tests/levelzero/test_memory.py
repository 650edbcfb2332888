"""Address ranges, and copies for a caller who waits."""

import pytest

from firmware.abi.status import Status
from hostdriver.api import exporting, mapping, memory, opening
from hostdriver.api.structures import AddressRange
from hostdriver.core.questions import Faults, Submit, Waited, WaitWord
from hostdriver.core.state import DriverState
from tests.harness.fake_session import FakeSession, Steps, fault
from tests.harness.levelzero import HOST, PAGE, fails, map_at, mapped, physical, reserve


@pytest.mark.error("MemGetAddressRange", "ANF")
@pytest.mark.decision("C32")
def test_pointer_into_a_mapping_gives_the_mapping(session: FakeSession, state: DriverState) -> None:
    va = reserve(session, state, 4 * PAGE)
    source = physical(session, state, 2 * PAGE)
    map_at(session, state, va, source)
    map_at(session, state, va + PAGE, source, 2 * PAGE)

    assert memory.get_address_range(state, va + PAGE - 1) == AddressRange(va, PAGE)
    assert memory.get_address_range(state, va + PAGE) == AddressRange(va + PAGE, 2 * PAGE)
    with fails("ADDRESS_NOT_FOUND", hex(va + 3 * PAGE)):
        memory.get_address_range(state, va + 3 * PAGE)


@pytest.mark.decision("C32", profile="intel")
def test_intel_gives_the_reservation(session: FakeSession, intel: DriverState) -> None:
    va = reserve(session, intel, 4 * PAGE)

    assert memory.get_address_range(intel, va + 5) == AddressRange(va, 4 * PAGE)


@pytest.mark.error("MemGetAddressRange", "NP", "ANF")
def test_address_range_errors(session: FakeSession, state: DriverState) -> None:
    va = reserve(session, state, PAGE)
    source = physical(session, state, PAGE)
    for pointer, name in ((None, "INVALID_NULL_POINTER"), (va, "ADDRESS_NOT_FOUND")):
        with fails(name):
            memory.get_address_range(state, pointer)
    with fails("ADDRESS_NOT_FOUND"):
        memory.get_address_range(state, (1 << 64) - 1)
    with fails("INVALID_ARGUMENT"):
        memory.get_address_range(state, 1 << 64)
    steps = Steps(session, mapping.map_memory(state, va, PAGE, source, 0, 1))
    with fails("ADDRESS_NOT_FOUND"):
        memory.get_address_range(state, va)
    steps.finish()
    assert memory.get_address_range(state, va) == AddressRange(va, PAGE)


def test_bytes_go_in_are_copied_filled_and_come_out(
    session: FakeSession, state: DriverState
) -> None:
    va = mapped(session, state)
    session.run(memory.write(state, va, memoryview(b"emuzero")))
    session.run(memory.copy(state, va + 100, va, 7))
    session.run(memory.fill(state, va + 103, b"!", 2))
    into = bytearray(7)

    session.run(memory.read(state, va + 100, memoryview(into)))

    assert into == b"emu!!ro"


def test_no_bytes_are_no_work(session: FakeSession, state: DriverState) -> None:
    for operation in (
        memory.write(state, 8, memoryview(b"")),
        memory.read(state, 8, memoryview(bytearray())),
        memory.copy(state, 8, 16, 0),
        memory.fill(state, 8, b"a", 0),
    ):
        session.run(operation)
    assert session.asked == []


def test_copy_errors(session: FakeSession, state: DriverState) -> None:
    end = (1 << 64) - 4
    data = memoryview(bytearray(8))
    cases = [
        (memory.write(state, None, data), "INVALID_NULL_POINTER"),
        (memory.read(state, 0, data), "INVALID_NULL_POINTER"),
        (memory.copy(state, 8, None, 8), "INVALID_NULL_POINTER"),
        (memory.copy(state, None, 8, 8), "INVALID_NULL_POINTER"),
        (memory.fill(state, None, b"", 8), "INVALID_NULL_POINTER"),
        (memory.fill(state, 8, b"abc", 8), "INVALID_SIZE"),
        (memory.fill(state, 8, b"", 8), "INVALID_SIZE"),
        (memory.write(state, end, data), "INVALID_ARGUMENT"),
        (memory.read(state, end, data), "INVALID_ARGUMENT"),
        (memory.copy(state, 8, end, 8), "INVALID_ARGUMENT"),
        (memory.copy(state, 8, 16, -1), "INVALID_ARGUMENT"),
    ]
    for operation, name in cases:
        with fails(name):
            session.run(operation)
    assert session.questions(Submit) == []


def test_memory_of_two_devices_is_not_copied() -> None:
    session = FakeSession(device_count=2)
    state = session.state()
    pointers = []
    for index in range(2):
        pointers.append(reserve(session, state, PAGE))
        map_at(session, state, pointers[-1], physical(session, state, PAGE, device=index))

    with fails("INVALID_ARGUMENT", "two devices"):
        session.run(memory.copy(state, pointers[0], pointers[1], 8))
    session.run(memory.fill(state, pointers[1], b"a", 8))
    assert session.questions(Submit)[0].device == 1


def test_opened_memory_is_copied_by_its_device() -> None:
    session = FakeSession()
    state = session.state()
    handle = session.run(exporting.get_handle(state, mapped(session, state)))
    pointer = session.run(opening.open_handle(state, 0, handle))

    session.run(memory.fill(state, pointer, b"a", 8))

    assert session.questions(Submit)[0].device == 0


@pytest.mark.decision("FAULT-01")
@pytest.mark.case("D17")
def test_fault_of_a_copy_is_a_lost_device_that_says_where(
    session: FakeSession, state: DriverState
) -> None:
    session.script(WaitWord, Waited(0, Status.FAULT))
    session.script(Faults, (fault(0xDEAD_0000),))

    with fails("DEVICE_LOST", "0xdead0000", "nothing is mapped there"):
        session.run(memory.fill(state, 0xDEAD_0000, b"a", 8))


def test_only_host_memory_is_for_the_cpu(session: FakeSession, state: DriverState) -> None:
    va = reserve(session, state, 4 * PAGE)
    map_at(session, state, va, physical(session, state, PAGE, HOST))
    map_at(session, state, va + PAGE, physical(session, state, PAGE))

    assert memory.check_host_range(state, va + 8, PAGE - 8) == va + 8
    with fails("INVALID_ARGUMENT", "CPU"):
        memory.check_host_range(state, va, PAGE + 1)
    with fails("ADDRESS_NOT_FOUND", hex(va + 2 * PAGE)):
        memory.check_host_range(state, va, 3 * PAGE)
    with fails("INVALID_NULL_POINTER"):
        memory.check_host_range(state, None, 8)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_every_pattern_size_of_the_device_is_offered(
    session: FakeSession, state: DriverState, size: int
) -> None:
    session.run(memory.fill(state, PAGE, bytes(range(size)), 20))

    assert session.memory.load(PAGE, 20) == (bytes(range(size)) * 20)[:20]
