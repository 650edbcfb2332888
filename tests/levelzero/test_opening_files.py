"""Opening host memory when descriptors or mappings run out: the cause is told, nothing is left."""

import pytest

from firmware.abi.control import ExportClose, ImportFiles
from firmware.abi.control_kinds import ControlOpcode
from firmware.abi.replies import FilesTold
from firmware.abi.status import Status
from hostdriver.api import exporting, opening
from hostdriver.core.questions import Answer, CloseDescriptor, MapDescriptor, ProtectNone
from hostdriver.core.state import DriverState
from tests.harness.fake_session import FakeSession
from tests.harness.levelzero import PAGE, fails, mapped

FILES = 5


@pytest.fixture(name="handle")
def get_handle(session: FakeSession, state: DriverState) -> bytes:
    handle = session.run(exporting.get_handle(state, mapped(session, state)))
    session.device.file_count = FILES
    session.asked.clear()
    return handle


def opened(session: FakeSession, state: DriverState, handle: bytes) -> int:
    return session.run(opening.open_handle(state, 0, handle))


def check_nothing_left(session: FakeSession, state: DriverState, free: int) -> None:
    assert len(state.imports) == 0
    assert state.arena is not None
    assert state.arena.statistics().free_bytes == free
    assert len(session.commands(ExportClose)) == 1
    assert len(session.questions(ProtectNone)) == 1


def free_bytes(state: DriverState) -> int:
    assert state.arena is not None
    return state.arena.statistics().free_bytes


def test_each_file_is_mapped_at_its_place_and_closed_at_once(
    session: FakeSession, state: DriverState, handle: bytes
) -> None:
    pointer = opened(session, state, handle)

    assert [q.va for q in session.questions(MapDescriptor)] == [
        pointer + page * 4096 for page in range(FILES)
    ]
    mapped_files = [q.descriptor for q in session.questions(MapDescriptor)]
    assert [q.descriptor for q in session.questions(CloseDescriptor)] == mapped_files


def test_files_are_asked_for_until_all_have_come(session: FakeSession, state: DriverState) -> None:
    handle = session.run(exporting.get_handle(state, mapped(session, state, 3)))
    session.device.file_count = 40

    opened(session, state, handle)

    assert [command.first for command in session.commands(ImportFiles)] == [0, 16, 32]
    assert len(session.questions(MapDescriptor)) == 40


@pytest.mark.case("I18")
def test_descriptor_that_does_not_come_is_told_and_trying_again_works(
    session: FakeSession, state: DriverState, handle: bytes
) -> None:
    free = free_bytes(state)
    reply = FilesTold(
        opcode=ControlOpcode.IMPORT_FILES, status=Status.OK, request=0, count=2, descriptors=2
    )
    session.script(ImportFiles, Answer(reply, bytes(1024), (), "the limit is reached"))

    with fails("OUT_OF_HOST_MEMORY", "descriptor", "the limit is reached"):
        opened(session, state, handle)
    check_nothing_left(session, state, free)
    opened(session, state, handle)


@pytest.mark.case("R09")
def test_mapping_that_fails_at_the_third_object_takes_all_back(
    session: FakeSession, state: DriverState, handle: bytes
) -> None:
    free = free_bytes(state)
    session.script(MapDescriptor, None, None, "no mappings left")

    with fails("OUT_OF_HOST_MEMORY", "no mappings left"):
        opened(session, state, handle)
    check_nothing_left(session, state, free)
    assert len(session.questions(CloseDescriptor)) == FILES
    opened(session, state, handle)


def test_device_that_cannot_send_files_is_told(
    session: FakeSession, state: DriverState, handle: bytes
) -> None:
    free = free_bytes(state)
    session.refuse(ImportFiles, Status.OUT_OF_HOST_MEMORY)

    with fails("OUT_OF_HOST_MEMORY"):
        opened(session, state, handle)
    check_nothing_left(session, state, free)


@pytest.mark.parametrize("payload", [b"\xff" * 64, bytes(1024)], ids=["beyond", "short"])
def test_device_that_tells_nonsense_is_not_believed(
    session: FakeSession, state: DriverState, handle: bytes, payload: bytes
) -> None:
    free = free_bytes(state)
    count = 1 if payload[0] else 0
    reply = FilesTold(
        opcode=ControlOpcode.IMPORT_FILES, status=Status.OK, request=0, count=count, descriptors=1
    )
    session.script(ImportFiles, Answer(reply, payload, (77,)))

    with fails("UNKNOWN"):
        opened(session, state, handle)
    check_nothing_left(session, state, free)
    assert [q.descriptor for q in session.questions(CloseDescriptor)] == [77]


def test_closing_takes_the_cpus_mappings_away(
    session: FakeSession, state: DriverState, handle: bytes
) -> None:
    pointer = opened(session, state, handle)

    session.run(opening.close_handle(state, pointer))

    assert [(q.va, q.size) for q in session.questions(ProtectNone)] == [(pointer, PAGE)]
