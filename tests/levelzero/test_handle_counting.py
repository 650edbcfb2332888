"""Handles of mapped memory: one however often it is got, put as often, or for good."""

import pytest

from firmware.abi.control import Export, ExportPut
from firmware.abi.ipc import ExportKind, IpcHandle
from firmware.abi.status import Status
from hostdriver.api import exporting, mapping, virtual_memory
from hostdriver.core.questions import DropTicket, MakeTicket
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.core.state import DriverState
from tests.harness.fake_session import FakeSession, Steps
from tests.harness.levelzero import PAGE, fails, mapped, physical, reserve, window


def test_mapping_has_one_handle_however_often_it_is_got(
    session: FakeSession, state: DriverState
) -> None:
    va = mapped(session, state, 2)
    first = session.run(exporting.get_handle(state, va))

    assert session.run(exporting.get_handle(state, va)) == first
    assert len(session.commands(Export)) == 1
    record = IpcHandle.unpack(first)
    assert isinstance(record, IpcHandle)
    assert (record.kind, record.size_bytes) == (ExportKind.ALLOCATION, 2 * PAGE)


@pytest.mark.decision("C9")
@pytest.mark.case("I04")
def test_handle_lives_until_it_was_put_as_often_as_got(
    session: FakeSession, state: DriverState
) -> None:
    va = mapped(session, state)
    handle = session.run(exporting.get_handle(state, va))
    session.run(exporting.get_handle(state, va))

    session.run(exporting.put_handle(state, handle))
    assert session.commands(ExportPut) == []
    session.run(exporting.put_handle(state, handle))
    assert len(session.commands(ExportPut)) == len(session.questions(DropTicket)) == 1
    session.run(exporting.put_handle(state, handle))
    assert len(session.commands(ExportPut)) == 1

    again = session.run(exporting.get_handle(state, va))
    assert len(again) == 64
    state.check()


def test_two_threads_that_get_at_once_have_the_same_handle(
    session: FakeSession, state: DriverState
) -> None:
    va = mapped(session, state)
    slow = Steps(session, exporting.get_handle(state, va))
    quick = session.run(exporting.get_handle(state, va))

    assert slow.finish() == quick
    assert len(session.device.exports) == len(session.tickets) == 1
    session.run(exporting.put_handle(state, quick))
    session.run(exporting.put_handle(state, quick))
    assert session.device.exports == {}


def test_a_get_counts_although_the_other_that_made_the_handle_is_put_meanwhile(
    session: FakeSession, state: DriverState
) -> None:
    va = mapped(session, state)
    slow = Steps(session, exporting.get_handle(state, va))
    quick = session.run(exporting.get_handle(state, va))
    slow.until(DropTicket)
    session.run(exporting.put_handle(state, quick))

    handle = slow.finish()

    assert len(session.device.exports) == len(session.tickets) == 1
    session.run(exporting.put_handle(state, handle))
    assert session.device.exports == {}


@pytest.mark.parametrize("step", [Export, MakeTicket])
def test_memory_that_is_unmapped_meanwhile_has_no_handle(
    session: FakeSession, state: DriverState, step: type
) -> None:
    va = mapped(session, state)
    slow = Steps(session, exporting.get_handle(state, va))
    slow.until(step)
    session.run(virtual_memory.unmap(state, va, PAGE))

    with fails("INVALID_ARGUMENT", "mapped"):
        slow.finish()
    assert session.device.exports == {}
    assert session.tickets == {}


@pytest.mark.error("MemGetIpcHandle", "IA")
@pytest.mark.decision("C19")
@pytest.mark.case("I23")
@pytest.mark.parametrize("offset", [1, 4096, PAGE - 1])
def test_pointer_into_memory_has_no_handle(
    session: FakeSession, state: DriverState, offset: int
) -> None:
    va = mapped(session, state)

    with fails("INVALID_ARGUMENT", hex(va)):
        session.run(exporting.get_handle(state, va + offset))
    with fails("INVALID_ARGUMENT"):
        session.run(exporting.get_handle(state, 1 << 40))


def test_memory_that_is_being_mapped_has_no_handle(
    session: FakeSession, state: DriverState
) -> None:
    va = reserve(session, state, PAGE)
    source = physical(session, state, PAGE)
    steps = Steps(session, mapping.map_memory(state, va, PAGE, source, 0, 1))

    with fails("ADDRESS_NOT_FOUND", hex(va)):
        window(session, state, va, PAGE)
    with fails("INVALID_ARGUMENT"):
        session.run(exporting.get_handle(state, va))
    steps.finish()
    window(session, state, va, PAGE)


def test_put_of_a_handle_with_another_descriptor_is_put_all_the_same(
    session: FakeSession, state: DriverState
) -> None:
    handle = window(session, state, mapped(session, state), 10)

    session.run(exporting.put_handle(state, (99).to_bytes(4, "little") + handle[4:]))

    assert session.device.exports == {}


@pytest.mark.decision("C28")
def test_put_of_what_others_got_does_nothing(session: FakeSession, state: DriverState) -> None:
    handle = window(session, state, mapped(session, state), 10)
    other = session.state()

    session.run(exporting.put_handle(other, handle))
    session.run(exporting.put_handle(other, bytes(64)))

    assert len(session.device.exports) == 1


@pytest.mark.error("MemPutIpcHandle", "IA")
def test_put_of_broken_bytes_is_refused(session: FakeSession, state: DriverState) -> None:
    handle = bytearray(window(session, state, mapped(session, state), 10))
    handle[30] ^= 1

    with fails("INVALID_ARGUMENT", "check word"):
        session.run(exporting.put_handle(state, bytes(handle)))
    with fails("INVALID_ARGUMENT", "63 bytes"):
        session.run(exporting.put_handle(state, bytes(63)))


def test_put_of_what_the_device_forgot_is_success(session: FakeSession, state: DriverState) -> None:
    handle = window(session, state, mapped(session, state), 10)
    session.refuse(ExportPut, Status.BAD_TOKEN)

    session.run(exporting.put_handle(state, handle))


def test_put_on_a_lost_device_is_told(session: FakeSession, state: DriverState) -> None:
    handles = [window(session, state, mapped(session, state), 10) for _ in range(2)]
    session.refuse(ExportPut, Status.INTERNAL)
    session.script(ExportPut, ZeError(ZeResult.ZE_RESULT_ERROR_DEVICE_LOST, "the device is gone"))

    for handle in handles:
        with fails("DEVICE_LOST"):
            session.run(exporting.put_handle(state, handle))
