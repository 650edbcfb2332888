"""Physical memory objects."""

import pytest

from firmware.abi.control import ObjectCreate, ObjectDestroy, ObjectKind
from firmware.abi.status import Status
from hostdriver.api import physical_memory, virtual_memory
from hostdriver.api.structures import (
    IpcMemHandleTypeExtDesc,
    PhysicalMemDesc,
    PhysicalMemProperties,
    UnknownDesc,
)
from hostdriver.core.enums import IpcMemHandleTypeFlags, PhysicalMemFlags
from hostdriver.core.physical import PhysicalKind, PhysicalObject
from hostdriver.core.questions import Answer, CloseDescriptor
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.core.state import DriverState
from tests.harness.fake_session import FakeSession, object_created
from tests.harness.levelzero import HOST, LARGE, PAGE, fails, mapped, physical

BOTH = PhysicalMemFlags(3)


def attempt(
    session: FakeSession, state: DriverState, desc: PhysicalMemDesc | None, device: int | None = 0
) -> PhysicalObject:
    return session.run(physical_memory.create(state, device, desc))


@pytest.mark.parametrize(("size", "page"), [(PAGE, PAGE), (3 * PAGE, PAGE), (LARGE, LARGE)])
def test_device_memory_prefers_the_largest_page(
    session: FakeSession, state: DriverState, size: int, page: int
) -> None:
    source = physical(session, state, size)

    (command,) = session.commands(ObjectCreate)
    assert (command.kind, command.size_bytes, command.page_size) == (ObjectKind.VRAM, size, page)
    assert source.kind is PhysicalKind.DEVICE
    assert source.descriptor is None


@pytest.mark.decision("PAGE-02")
def test_host_memory_keeps_its_descriptor_and_has_small_pages(
    session: FakeSession, state: DriverState
) -> None:
    source = physical(session, state, 3 * 4096, HOST)

    (command,) = session.commands(ObjectCreate)
    assert (command.kind, command.page_size) == (ObjectKind.SYSTEM, 4096)
    assert source.descriptor is not None
    assert session.questions(CloseDescriptor) == []


def test_properties_tell_number_and_size(session: FakeSession, state: DriverState) -> None:
    one, two = physical(session, state, PAGE), physical(session, state, LARGE)

    assert session.run(physical_memory.get_properties(state, one)) == PhysicalMemProperties(1, PAGE)
    assert session.run(physical_memory.get_properties(state, two)) == PhysicalMemProperties(
        2, LARGE
    )


def test_number_is_not_used_again(session: FakeSession, state: DriverState) -> None:
    first = physical(session, state, PAGE)
    session.run(physical_memory.destroy(state, first))

    assert physical(session, state, PAGE).id != first.id


@pytest.mark.error("PhysicalMemCreate", "NH", "NP", "IE", "UE", "US")
@pytest.mark.decision("C22", "C30", "C35")
def test_creation_errors_in_their_order(session: FakeSession, state: DriverState) -> None:
    fabric = IpcMemHandleTypeExtDesc(IpcMemHandleTypeFlags.FABRIC_ACCESSIBLE)
    odd = IpcMemHandleTypeExtDesc(IpcMemHandleTypeFlags(4))
    cases = [
        (None, None, "INVALID_NULL_HANDLE"),
        (PhysicalMemDesc(0), None, "INVALID_NULL_HANDLE"),
        (None, 5, "INVALID_ARGUMENT"),
        (None, 0, "INVALID_NULL_POINTER"),
        (PhysicalMemDesc(0, PhysicalMemFlags(4), [fabric]), 0, "UNSUPPORTED_FEATURE"),
        (PhysicalMemDesc(0, PhysicalMemFlags(4), [odd]), 0, "INVALID_ENUMERATION"),
        (PhysicalMemDesc(0, PhysicalMemFlags(4)), 0, "INVALID_ENUMERATION"),
        (PhysicalMemDesc(0, BOTH), 0, "UNSUPPORTED_ENUMERATION"),
        (PhysicalMemDesc(0), 0, "UNSUPPORTED_SIZE"),
        (PhysicalMemDesc(PAGE + 1), 0, "UNSUPPORTED_SIZE"),
        (PhysicalMemDesc(4096), 0, "UNSUPPORTED_SIZE"),
        (PhysicalMemDesc(LARGE + PAGE), 0, "UNSUPPORTED_SIZE"),
        (PhysicalMemDesc(4097, HOST), 0, "UNSUPPORTED_SIZE"),
        (PhysicalMemDesc(1 << 64), 0, "UNSUPPORTED_SIZE"),
    ]
    for desc, device, name in cases:
        with fails(name):
            attempt(session, state, desc, device)
    assert state.physical == {}
    assert session.asked == []


@pytest.mark.decision("C14")
def test_host_memory_needs_no_device(session: FakeSession, state: DriverState) -> None:
    assert attempt(session, state, PhysicalMemDesc(4096, HOST), None).device == 0


@pytest.mark.decision("C14", profile="intel")
def test_intel_wants_a_device_for_host_memory(session: FakeSession, intel: DriverState) -> None:
    with fails("INVALID_NULL_HANDLE"):
        attempt(session, intel, PhysicalMemDesc(4096, HOST), None)


def test_flags_0_are_device_memory(session: FakeSession, state: DriverState) -> None:
    source = attempt(session, state, PhysicalMemDesc(PAGE, PhysicalMemFlags(0)))

    assert source.kind is PhysicalKind.DEVICE


@pytest.mark.sentence("HANDLETYPE-04")
def test_default_handle_type_may_be_chained(session: FakeSession, state: DriverState) -> None:
    attempt(session, state, PhysicalMemDesc(PAGE, p_next=[IpcMemHandleTypeExtDesc()]))

    assert state.note == ""


def test_handle_type_needs_its_extension(session: FakeSession) -> None:
    state = session.state(extensions=0)

    with fails("UNSUPPORTED_FEATURE", "ZE_extension_ipc_mem_handle_type"):
        attempt(session, state, PhysicalMemDesc(PAGE, p_next=[IpcMemHandleTypeExtDesc()]))


@pytest.mark.decision("C18")
def test_unknown_structure_is_ignored_and_noted(session: FakeSession, state: DriverState) -> None:
    attempt(session, state, PhysicalMemDesc(PAGE, p_next=[UnknownDesc(0x3001B)]))

    assert "0x3001b" in state.note


@pytest.mark.decision("C18", profile="intel")
def test_intel_refuses_an_unknown_structure(session: FakeSession, intel: DriverState) -> None:
    with fails("UNSUPPORTED_ENUMERATION", "0x3001b"):
        attempt(session, intel, PhysicalMemDesc(PAGE, p_next=[UnknownDesc(0x3001B)]))


def test_memory_that_does_not_fit_is_refused_at_creation(
    session: FakeSession, state: DriverState
) -> None:
    session.refuse(ObjectCreate, Status.OUT_OF_DEVICE_MEMORY, detail=0x100000)

    with fails("OUT_OF_DEVICE_MEMORY", "0x100000"):
        attempt(session, state, PhysicalMemDesc(PAGE))
    assert state.physical == {}


def test_host_memory_whose_descriptor_is_lost_is_given_back(
    session: FakeSession, state: DriverState
) -> None:
    reply = object_created(77, 4096, 1)
    session.script(ObjectCreate, Answer(reply, problem="RLIMIT_NOFILE"))

    with fails("OUT_OF_HOST_MEMORY", "RLIMIT_NOFILE"):
        attempt(session, state, PhysicalMemDesc(4096, HOST))
    assert [command.object_id for command in session.commands(ObjectDestroy)] == [77]
    assert state.physical == {}


def test_descriptors_that_nobody_needs_are_closed(session: FakeSession, state: DriverState) -> None:
    reply = object_created(77, 4096, 2)
    session.script(ObjectCreate, Answer(reply, b"", (5, 6)), Answer(reply, b"", (7, 8)))

    assert attempt(session, state, PhysicalMemDesc(4096, HOST)).descriptor == 5
    assert attempt(session, state, PhysicalMemDesc(PAGE)).descriptor is None

    closed = [question.descriptor for question in session.questions(CloseDescriptor)]
    assert closed == [6, 7, 8]


def test_destroy_gives_object_and_descriptor_back(session: FakeSession, state: DriverState) -> None:
    source = physical(session, state, 4096, HOST)
    descriptor = source.descriptor
    assert descriptor is not None

    session.run(physical_memory.destroy(state, source))

    assert [c.object_id for c in session.commands(ObjectDestroy)] == [source.object_id]
    assert session.questions(CloseDescriptor) == [CloseDescriptor(descriptor)]
    assert state.physical == {}


@pytest.mark.error("PhysicalMemDestroy", "NH", "HIU")
@pytest.mark.error("PhysicalMemGetProperties", "NH")
@pytest.mark.error("Any function", "IA")
@pytest.mark.decision("CONTEXT-03")
def test_destroy_errors(session: FakeSession, state: DriverState) -> None:
    va = mapped(session, state)
    (source,) = state.physical.values()

    with fails("INVALID_NULL_HANDLE"):
        session.run(physical_memory.destroy(state, None))
    with fails("HANDLE_OBJECT_IN_USE", "mapped 1 time"):
        session.run(physical_memory.destroy(state, source))
    session.run(virtual_memory.unmap(state, va, PAGE))
    session.run(physical_memory.destroy(state, source))
    with fails("INVALID_ARGUMENT", "destroyed"):
        session.run(physical_memory.destroy(state, source))
    with fails("INVALID_ARGUMENT"):
        session.run(physical_memory.get_properties(state, source))
    with fails("INVALID_NULL_HANDLE"):
        session.run(physical_memory.get_properties(state, None))


@pytest.mark.parametrize("lost", [True, False])
def test_destroy_that_fails_can_be_repeated(
    session: FakeSession, state: DriverState, lost: bool
) -> None:
    source = physical(session, state, PAGE)
    if lost:
        session.script(
            ObjectDestroy, ZeError(ZeResult.ZE_RESULT_ERROR_DEVICE_LOST, "the device is gone")
        )
    else:
        session.refuse(ObjectDestroy, Status.IN_USE)

    with fails("DEVICE_LOST" if lost else "HANDLE_OBJECT_IN_USE"):
        session.run(physical_memory.destroy(state, source))
    session.run(physical_memory.destroy(state, source))

    assert state.physical == {}
