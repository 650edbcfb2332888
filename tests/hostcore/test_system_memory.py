"""Imports of the application's memory, step by step: what is asked, and what a failure leaves."""

import pytest

from firmware.abi.control import (
    Allocate,
    ObjectFlags,
    ObjectKind,
    Release,
    ReleaseMode,
    SegmentUnregister,
    Unmap,
)
from firmware.abi.ids import ALL_RIGHTS, PAGE_SIZE, Rights
from firmware.abi.status import Status
from hostdriver.core.allocations import AllocationKind
from hostdriver.core.failures import device_lost
from hostdriver.core.questions import FindMissing
from hostdriver.core.results import Refusal, ZeError
from hostdriver.core.state import DriverState
from hostdriver.core.system_memory import bring_in, take_out
from tests.harness.fake_session import FakeSession
from tests.harness.replies import allocated, refused

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


def test_the_pages_are_mapped_at_their_own_address_in_one_step(
    session: FakeSession, state: DriverState
) -> None:
    bring(session, state)

    (made,) = session.commands(Allocate)
    assert (made.kind, made.flags, made.rights) == (
        ObjectKind.CLIENT_PAGES,
        ObjectFlags.NONE,
        ALL_RIGHTS,
    )
    assert (made.va, made.size_bytes) == (HEAP, SIZE)
    (entry,) = state.allocations
    assert (entry.start, entry.end) == (HEAP, HEAP + SIZE)
    assert entry.value.kind is AllocationKind.IMPORTED
    assert not session.commands(Unmap)


def test_read_only_pages_have_only_that_right(session: FakeSession, state: DriverState) -> None:
    bring(session, state, read_only=True)

    (made,) = session.commands(Allocate)
    assert (made.flags, made.rights) == (ObjectFlags.READ_ONLY, Rights.READ)


def test_pages_that_cannot_be_reached_leave_nothing(
    session: FakeSession, state: DriverState
) -> None:
    session.refuse(Allocate, Status.CLIENT_MEMORY, HEAP)

    with pytest.raises(Refusal, match=f"{HEAP:#x}"):
        bring(session, state)

    assert not len(state.allocations)


def test_pages_that_overlap_no_other_import_are_not_mapped_anew(
    session: FakeSession, state: DriverState
) -> None:
    session.refuse(Allocate, Status.OVERLAP, HEAP)

    with pytest.raises(Refusal):
        bring(session, state)

    assert not session.commands(Unmap)
    assert len(session.commands(Allocate)) == 1


def test_pages_of_another_import_are_mapped_anew(session: FakeSession, state: DriverState) -> None:
    bring(session, state)
    session.refuse(Allocate, Status.OVERLAP, HEAP)

    bring(session, state)

    (unmapped,) = session.commands(Unmap)
    assert (unmapped.va, unmapped.size_bytes) == (HEAP, SIZE)
    assert len(session.commands(Allocate)) == 3
    assert len(state.overlaid) == 1


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
    session.script(Allocate, allocated(5, 0, 0), refused(Allocate, Status.OUT_OF_DEVICE_MEMORY))

    with pytest.raises(Refusal):
        bring(session, state)

    assert [x.object_id for x in session.commands(Release)] == [5]
    assert not session.commands(SegmentUnregister)
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
