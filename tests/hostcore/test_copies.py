"""Copies through lanes: what the device is told, in which order, and what a failure leaves."""

import pytest

from firmware.abi.control import Map, ObjectCreate, ObjectDestroy, QueueCreate, QueueDestroy, Unmap
from firmware.abi.status import Status
from firmware.abi.work import Copy, decode_work
from hostdriver.core import copies, lanes
from hostdriver.core.questions import (
    CloseDescriptor,
    Faults,
    LoadBytes,
    MapDescriptor,
    Pause,
    ProtectNone,
    Reserve,
    StoreBytes,
    Submit,
    Waited,
    WaitWord,
)
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.core.state import DriverState
from tests.harness.fake_session import FakeSession, Steps, fault, object_created

VA = 0x9000_0000


@pytest.fixture(name="session")
def make_session(monkeypatch: pytest.MonkeyPatch) -> FakeSession:
    # Halves of a page, so that a few kilobytes take many of them.
    monkeypatch.setattr(lanes, "HALF", 4096)
    monkeypatch.setattr(copies, "HALF", 4096)
    return FakeSession()


@pytest.fixture(name="state")
def make_state(session: FakeSession) -> DriverState:
    return session.state()


def free_of(state: DriverState) -> int:
    assert state.arena is not None
    return state.arena.statistics().free_bytes


@pytest.mark.parametrize("size", [1, 4095, 4096, 4097, 8192, 12_289])
def test_bytes_that_were_written_are_read_back(
    session: FakeSession, state: DriverState, size: int
) -> None:
    data = bytes(index * 7 & 0xFF for index in range(size))
    device = state.devices[0]
    session.run(copies.write(state, device, VA, memoryview(data)))
    into = bytearray(size)

    session.run(copies.read(state, device, VA, memoryview(into)))

    assert bytes(into) == data
    assert session.memory.load(VA, size) == data


def test_one_lane_serves_one_copy_after_another(session: FakeSession, state: DriverState) -> None:
    device = state.devices[0]
    for _ in range(3):
        session.run(copies.write(state, device, VA, memoryview(b"abc")))

    assert len(session.commands(QueueCreate)) == 1
    assert len(session.commands(ObjectCreate)) == 1
    assert device.lanes.count == len(device.lanes.idle) == 1


def test_copy_inside_the_device_needs_no_staging(session: FakeSession, state: DriverState) -> None:
    session.memory.store(VA, b"hello")

    session.run(copies.copy(state, state.devices[0], VA + 64, VA, 5))
    session.run(copies.fill(state, state.devices[0], VA + 128, b"ab", 5))

    assert session.memory.load(VA + 64, 5) == b"hello"
    assert session.memory.load(VA + 128, 5) == b"ababa"
    assert session.commands(ObjectCreate) == []


def test_a_half_is_filled_only_when_the_copy_from_it_is_done(
    session: FakeSession, state: DriverState
) -> None:
    session.run(copies.write(state, state.devices[0], VA, memoryview(bytes(5 * 4096))))

    kinds = (StoreBytes, Submit, WaitWord)
    order = [question for question in session.asked if isinstance(question, kinds)]
    in_flight: dict[int, int] = {}
    done = 0
    for question in order:
        if isinstance(question, WaitWord):
            done = question.value
        elif isinstance(question, StoreBytes):
            assert in_flight.get(question.va, 0) <= done
        else:
            command = decode_work(question.commands[0])
            assert isinstance(command, Copy)
            in_flight[command.source] = len(in_flight) + 1
    assert len([question for question in order if isinstance(question, Submit)]) == 5
    assert done == 5


def test_reading_keeps_two_copies_in_flight(session: FakeSession, state: DriverState) -> None:
    session.run(copies.read(state, state.devices[0], VA, memoryview(bytearray(4 * 4096))))

    kinds = (LoadBytes, Submit, WaitWord)
    order = [type(question) for question in session.asked if isinstance(question, kinds)]
    first = [Submit, Submit, WaitWord, LoadBytes, Submit, WaitWord, LoadBytes, Submit]
    assert order == [*first, WaitWord, LoadBytes, WaitWord, LoadBytes]


@pytest.mark.decision("FAULT-01")
@pytest.mark.case("D17")
def test_fault_is_told_and_the_lane_is_gone(session: FakeSession, state: DriverState) -> None:
    before = free_of(state)
    session.script(WaitWord, Waited(0, 0), Waited(0, Status.FAULT))
    session.script(Faults, (fault(VA),))

    with pytest.raises(ZeError, match="0x90000000: nothing is mapped there") as caught:
        session.run(copies.write(state, state.devices[0], VA, memoryview(b"abc")))

    assert caught.value.result is ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
    for kind in (QueueDestroy, Unmap, ObjectDestroy):
        assert len(session.commands(kind)) == 1
    assert len(session.questions(ProtectNone)) == 1
    assert state.devices[0].lanes == lanes.LanePool()
    assert free_of(state) == before


@pytest.mark.decision("FAULT-02")
def test_copy_after_a_fault_has_a_new_lane(session: FakeSession, state: DriverState) -> None:
    session.script(WaitWord, Waited(0, Status.FAULT))
    with pytest.raises(ZeError):
        session.run(copies.copy(state, state.devices[0], VA, VA + 64, 5))

    session.run(copies.copy(state, state.devices[0], VA, VA + 64, 5))

    assert len(session.commands(QueueCreate)) == 2


class Step:
    """Where making staging memory can fail, and how."""

    def __init__(self, kind: type, answer: object, result: ZeResult, gone: int) -> None:
        self.kind = kind
        self.answer = answer
        self.result = result
        self.gone = gone
        """Objects that have to be destroyed."""


NO_HOST = ZeResult.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
NO_DEVICE = ZeResult.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
STEPS = {
    "object": Step(ObjectCreate, Status.OUT_OF_HOST_MEMORY, NO_HOST, 0),
    "map": Step(Map, Status.OUT_OF_DEVICE_MEMORY, NO_DEVICE, 1),
    "host": Step(MapDescriptor, "no mappings left", NO_HOST, 1),
}


@pytest.mark.parametrize("name", STEPS)
def test_staging_that_cannot_be_made_leaves_nothing(
    session: FakeSession, state: DriverState, name: str
) -> None:
    step = STEPS[name]
    before = free_of(state)
    if isinstance(step.answer, Status):
        session.refuse(step.kind, step.answer)
    else:
        session.script(step.kind, step.answer)

    with pytest.raises(ZeError) as caught:
        session.run(copies.write(state, state.devices[0], VA, memoryview(b"abc")))

    assert caught.value.result is step.result
    assert len(session.commands(ObjectDestroy)) == step.gone
    assert len(session.questions(CloseDescriptor)) == len(session.commands(Map))
    assert free_of(state) == before
    assert state.devices[0].lanes.count == 0


def test_staging_without_address_space_leaves_nothing(session: FakeSession) -> None:
    state = session.state(has_arena=False)
    session.script(Reserve, None)

    with pytest.raises(ZeError, match="address space"):
        session.run(copies.write(state, state.devices[0], VA, memoryview(b"abc")))

    assert len(session.commands(ObjectDestroy)) == len(session.questions(CloseDescriptor)) == 1


def test_staging_whose_descriptor_is_missing_leaves_nothing(
    session: FakeSession, state: DriverState
) -> None:
    reply = object_created(77, 8192, 1)
    session.script(ObjectCreate, reply)

    with pytest.raises(ZeError, match="descriptor of the staging memory"):
        session.run(copies.write(state, state.devices[0], VA, memoryview(b"abc")))

    assert [command.object_id for command in session.commands(ObjectDestroy)] == [77]
    assert state.devices[0].lanes.count == 0


def waiting(session: FakeSession, state: DriverState) -> Steps[None]:
    """Return a copy that waits for its end."""
    steps = Steps(session, copies.copy(state, state.devices[0], VA, VA + 64, 5))
    steps.until(WaitWord)
    return steps


def test_copies_at_a_time_have_lanes_of_their_own(session: FakeSession, state: DriverState) -> None:
    running = [waiting(session, state) for _ in range(lanes.MOST_LANES)]

    assert state.devices[0].lanes.count == lanes.MOST_LANES
    for steps in running:
        steps.finish()
    assert len(state.devices[0].lanes.idle) == lanes.MOST_LANES


def test_copy_waits_when_all_lanes_are_in_use(session: FakeSession, state: DriverState) -> None:
    running = [waiting(session, state) for _ in range(lanes.MOST_LANES)]
    late = Steps(session, copies.copy(state, state.devices[0], VA, VA + 64, 5))
    assert isinstance(late.question, Pause)

    running[3].finish()
    late.finish()

    assert len(session.commands(QueueCreate)) == lanes.MOST_LANES


def test_copy_waits_when_the_device_has_no_more_queues(
    session: FakeSession, state: DriverState
) -> None:
    first = waiting(session, state)
    session.refuse(QueueCreate, Status.LIMIT, detail=1)
    session.refuse(QueueCreate, Status.LIMIT, detail=1)
    late = Steps(session, copies.copy(state, state.devices[0], VA, VA + 64, 5))

    late.until(Pause)
    late.step()
    late.until(Pause)
    first.finish()
    late.finish()

    assert session.left == {}
    assert state.devices[0].lanes.count == 1


def test_device_without_any_queue_is_an_error(session: FakeSession, state: DriverState) -> None:
    session.refuse(QueueCreate, Status.LIMIT, detail=0)

    with pytest.raises(ZeError, match="copy queue"):
        session.run(copies.copy(state, state.devices[0], VA, VA + 64, 5))
    assert state.devices[0].lanes.count == 0


def test_interrupted_copy_is_cleaned_up_by_the_next(
    session: FakeSession, state: DriverState
) -> None:
    session.script(WaitWord, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        session.run(copies.copy(state, state.devices[0], VA, VA + 64, 5))
    assert session.commands(QueueDestroy) == []

    session.run(copies.copy(state, state.devices[0], VA, VA + 64, 5))

    assert len(session.commands(QueueDestroy)) == 1
    assert state.devices[0].lanes.count == 1


def test_lost_device_is_told_and_not_asked_again_and_again(
    session: FakeSession, state: DriverState
) -> None:
    lost = ZeError(ZeResult.ZE_RESULT_ERROR_DEVICE_LOST, "gone")
    session.script(WaitWord, lost)
    session.script(QueueDestroy, lost)

    with pytest.raises(ZeError, match="gone"):
        session.run(copies.copy(state, state.devices[0], VA, VA + 64, 5))

    assert state.devices[0].lanes.count == 0


def test_queue_has_as_many_entries_as_the_device_allows(session: FakeSession) -> None:
    state = session.state(max_ring_entries=16)
    session.run(copies.copy(state, state.devices[0], VA, VA + 64, 5))

    assert session.commands(QueueCreate)[0].entry_count == 16
