"""Imports of the application's memory, step by step: what is asked, and what a failure leaves."""

import pytest

from firmware.abi.control import (
    Map,
    ObjectFlags,
    ObjectKind,
    Release,
    ReleaseMode,
    SegmentRegister,
    SegmentUnregister,
    Unmap,
)
from firmware.abi.ids import ALL_RIGHTS, PAGE_SIZE, Rights
from firmware.abi.replies import Mapped
from firmware.abi.status import Status
from hostdriver.core.allocations import AllocationKind
from hostdriver.core.failures import device_lost
from hostdriver.core.questions import FindMissing
from hostdriver.core.results import Refusal, ZeError
from hostdriver.core.state import DriverState
from hostdriver.core.system_memory import bring_in, take_out
from tests.harness.fake_session import FakeSession
from tests.harness.replies import refused

HEAP = 0x7F00_0000_3000
SIZE = 4 * PAGE_SIZE


@pytest.fixture(name="session")
def make_session() -> FakeSession:
    return FakeSession()


@pytest.fixture(name="state")
def make_state(session: FakeSession) -> DriverState:
    return session.state()


def bring(session: FakeSession, state: DriverState, *, read_only: bool = False) -> None:
    session.run(bring_in(state, HEAP, SIZE, read_only=read_only))


def test_the_pages_are_registered_and_mapped_at_their_own_address(
    session: FakeSession, state: DriverState
) -> None:
    bring(session, state)

    (registered,) = session.commands(SegmentRegister)
    (mapped,) = session.commands(Map)
    assert (registered.kind, registered.flags) == (ObjectKind.CLIENT_PAGES, ObjectFlags.NONE)
    assert (registered.address, registered.size_bytes) == (HEAP, SIZE)
    assert (mapped.va, mapped.size_bytes, mapped.rights) == (HEAP, SIZE, ALL_RIGHTS)
    (entry,) = state.allocations
    assert (entry.start, entry.end) == (HEAP, HEAP + SIZE)
    assert entry.value.kind is AllocationKind.IMPORTED
    assert not session.commands(Unmap)


def test_read_only_pages_have_only_that_right(session: FakeSession, state: DriverState) -> None:
    bring(session, state, read_only=True)

    assert session.commands(SegmentRegister)[0].flags is ObjectFlags.READ_ONLY
    assert session.commands(Map)[0].rights is Rights.READ


def test_pages_that_cannot_be_registered_leave_nothing(
    session: FakeSession, state: DriverState
) -> None:
    session.refuse(SegmentRegister, Status.CLIENT_MEMORY, HEAP)

    with pytest.raises(Refusal, match=f"{HEAP:#x}"):
        bring(session, state)

    assert not session.commands(Map)
    assert not len(state.allocations)


def test_pages_that_cannot_be_mapped_are_unregistered(
    session: FakeSession, state: DriverState
) -> None:
    session.refuse(Map, Status.OUT_OF_DEVICE_MEMORY)

    with pytest.raises(Refusal):
        bring(session, state)

    assert len(session.commands(SegmentUnregister)) == 1
    assert not len(state.allocations)


def test_a_device_that_cannot_unmap_keeps_the_import(
    session: FakeSession, state: DriverState
) -> None:
    bring(session, state)
    (entry,) = state.allocations
    session.refuse(Release, Status.OUT_OF_DEVICE_MEMORY)

    with pytest.raises(Refusal):
        session.run(take_out(state, entry.value, ReleaseMode.BEHIND_WORK))

    assert not entry.value.leaving
    assert not session.commands(SegmentUnregister)
    session.run(take_out(state, entry.value, ReleaseMode.BEHIND_WORK))
    assert not len(state.allocations)


def test_memory_that_is_gone_is_noted_when_the_import_ends(
    session: FakeSession, state: DriverState
) -> None:
    bring(session, state)
    (entry,) = state.allocations
    session.script(FindMissing, HEAP + PAGE_SIZE)

    session.run(take_out(state, entry.value, ReleaseMode.BEHIND_WORK))

    assert f"{HEAP + PAGE_SIZE:#x}" in state.note
    assert session.questions(FindMissing) == [FindMissing(HEAP, SIZE)]


def test_a_lost_device_keeps_the_import(session: FakeSession, state: DriverState) -> None:
    bring(session, state)
    (entry,) = state.allocations
    session.script(Release, device_lost("gone"))

    with pytest.raises(ZeError):
        session.run(take_out(state, entry.value, ReleaseMode.BEHIND_WORK))

    assert not entry.value.leaving


def test_a_second_device_that_refuses_leaves_nothing_on_the_first() -> None:
    session = FakeSession(device_count=2)
    state = session.state()
    session.script(
        Map,
        Mapped(opcode=Map.OPCODE, status=Status.OK, request=0, page_count=4),
        refused(Map, Status.OUT_OF_DEVICE_MEMORY),
    )

    with pytest.raises(Refusal):
        bring(session, state)

    assert len(session.commands(Release)) == 1
    assert len(session.commands(SegmentUnregister)) == 1
    assert not len(state.allocations)


def test_every_device_has_an_object_of_its_own_and_gives_it_back() -> None:
    session = FakeSession(device_count=2)
    state = session.state()
    bring(session, state)
    (entry,) = state.allocations

    session.run(take_out(state, entry.value, ReleaseMode.WAIT))

    assert [peer.device for peer in entry.value.peers] == [1]
    released = session.commands(Release)
    assert [x.object_id for x in released] == [
        entry.value.object_id,
        entry.value.peers[0].object_id,
    ]
    assert {x.mode for x in released} == {ReleaseMode.WAIT}
