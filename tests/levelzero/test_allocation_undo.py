"""Every step of every allocation fails once, in every way: nothing is left, a retry works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from firmware.abi.control import Allocate, Release, SegmentRegister, SegmentUnregister
from firmware.abi.status import Status
from hostdriver.api import allocation
from hostdriver.api.memory_structures import DeviceMemAllocDesc, HostMemAllocDesc
from hostdriver.core import questions as q
from hostdriver.core.failures import device_lost
from hostdriver.core.results import ZeError
from tests.harness.fake_session import ARENA, FakeSession, refused

if TYPE_CHECKING:
    from hostdriver.core.questions import Operation
    from hostdriver.core.state import DriverState

MIB = 1 << 20
DEVICE, HOST = DeviceMemAllocDesc(), HostMemAllocDesc()
KINDS = ["device", "host", "shared"]


def operation(state: DriverState, kind: str) -> Operation[int]:
    if kind == "device":
        return allocation.allocate_device(state, DEVICE, MIB, 0, 1)
    if kind == "host":
        return allocation.allocate_host(state, HOST, MIB, 0)
    return allocation.allocate_shared(state, DEVICE, HOST, MIB, 0, 1)


class FailingSession(FakeSession):
    """Three devices, of whose answers the one number `at` is a failure."""

    def __init__(self) -> None:
        super().__init__(device_count=3)
        self.at = -1
        self.throws = False
        self.failed: q.AnyQuestion | None = None
        self.objects = 0
        """Made on devices and not taken back."""
        self.outside_bytes = 0

    def answer(self, question: q.AnyQuestion) -> object:
        if self.at == len(self.asked) and self.failed is None:
            self.asked.append(question)
            self.failed = question
            if self.throws:
                raise device_lost("gone in the middle")
            return self._failure(question)
        self._count(question)
        return super().answer(question)

    def _count(self, question: q.AnyQuestion) -> None:
        match question:
            case q.Control(command=Allocate() | SegmentRegister()):
                self.objects += 1
            case q.Control(command=Release() | SegmentUnregister()):
                self.objects -= 1
            case q.Reserve():
                self.outside_bytes += question.size
            case q.Release():
                self.outside_bytes -= question.size
            case _:
                pass

    @staticmethod
    def _failure(question: q.AnyQuestion) -> object:
        match question:
            case q.Control():
                return q.Answer(refused(type(question.command), Status.OUT_OF_DEVICE_MEMORY))
            case q.MapDescriptor():
                return "no mappings left"
            case _:
                # Reserving finds no room; nothing else can fail.
                return None


def questions_of(kind: str, *, has_arena: bool) -> list[q.AnyQuestion]:
    session = FakeSession(device_count=3)
    state = session.state(has_arena=int(has_arena))
    session.run(operation(state, kind))
    return session.asked


ASKED = {
    (kind, has_arena): questions_of(kind, has_arena=has_arena)
    for kind in KINDS
    for has_arena in (True, False)
}
CANNOT_FAIL = {
    key: [at for at, question in enumerate(asked) if isinstance(question, q.CloseDescriptor)]
    for key, asked in ASKED.items()
}
CASES = [
    (kind, has_arena, throws, at)
    for (kind, has_arena), asked in ASKED.items()
    for throws in (True, False)
    for at in range(len(asked))
]


@pytest.mark.case("A12")
@pytest.mark.parametrize(("kind", "has_arena", "throws", "at"), CASES)
def test_step_that_fails_leaves_nothing_and_a_retry_works(
    kind: str, has_arena: bool, throws: bool, at: int
) -> None:
    session = FailingSession()
    state = session.state(has_arena=int(has_arena))
    session.at, session.throws = at, throws

    if not throws and at in CANNOT_FAIL[kind, has_arena]:
        assert session.run(operation(state, kind))
        return
    with pytest.raises(ZeError):
        session.run(operation(state, kind))

    assert session.objects == session.outside_bytes == 0
    closed = {question.descriptor for question in session.questions(q.CloseDescriptor)}
    shown = {question.descriptor for question in session.questions(q.MapDescriptor)}
    assert shown <= closed
    assert not len(state.allocations)
    assert state.arena is None or state.arena.statistics().free_bytes == ARENA[1]

    assert session.run(operation(state, kind))
    assert len(state.allocations) == 1
    state.check()
