"""Control commands as coroutines ask them."""

import pytest

from firmware.abi.control import ControlOpcode, Nop, SpaceCreate
from firmware.abi.replies import Done, SpaceCreated
from firmware.abi.status import Status
from hostdriver.core.calls import call
from hostdriver.core.questions import Pause
from hostdriver.core.results import Refusal, ZeError, ZeResult
from tests.harness.fake_session import FakeSession, Steps


def test_call_returns_the_reply() -> None:
    session = FakeSession()

    reply = session.run(call(0, SpaceCreate(request=0), SpaceCreated))

    assert reply.vmid == 1
    assert [question.device for question in session.asked] == [0]  # type: ignore[union-attr]


def test_refusal_is_raised_with_what_the_device_said() -> None:
    session = FakeSession()
    session.refuse(Nop, Status.LIMIT, detail=7)

    with pytest.raises(Refusal) as caught:
        session.run(call(0, Nop(request=0), Done))
    assert (caught.value.opcode, caught.value.status, caught.value.detail) == (
        ControlOpcode.NOP,
        Status.LIMIT,
        7,
    )


def test_another_record_than_expected_breaks_the_contract() -> None:
    session = FakeSession()

    with pytest.raises(ZeError, match="expected SpaceCreated") as caught:
        session.run(call(0, Nop(request=0), SpaceCreated))
    assert caught.value.result is ZeResult.ZE_RESULT_ERROR_UNKNOWN


def test_question_waits_for_its_answer() -> None:
    async def two_questions() -> str:
        await Pause()
        reply = await call(0, SpaceCreate(request=0), SpaceCreated)
        return f"space {reply.vmid}"

    steps = Steps(FakeSession(), two_questions())

    assert steps.question == Pause()
    steps.step()
    assert not steps.ended
    assert steps.finish() == "space 1"
