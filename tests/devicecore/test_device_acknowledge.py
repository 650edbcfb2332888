"""Questions to the engines: released once, when idle, also when a release asks again."""

from __future__ import annotations

from device.core.acknowledge import AT_ONCE, Acknowledgement, Acknowledgements


def test_what_is_idle_is_released_at_once() -> None:
    released: list[int] = []

    answer = Acknowledgements().wait(lambda: True, lambda: released.append(1))

    assert answer is AT_ONCE
    assert released == [1]


def test_what_is_busy_is_released_once_when_it_becomes_idle() -> None:
    questions = Acknowledgements()
    idle: list[int] = []
    released: list[int] = []

    answer = questions.wait(lambda: bool(idle), lambda: released.append(1))
    assert not questions.poll()
    assert (answer.passed, released, len(questions)) == (False, [], 1)
    idle.append(1)

    assert questions.poll()
    assert (answer.passed, released, len(questions)) == (True, [1], 0)
    assert not questions.poll()
    assert released == [1]


def test_a_release_may_ask_again() -> None:
    questions = Acknowledgements()
    state = {"first": False, "second": False}
    later: list[Acknowledgement] = []

    def release() -> None:
        later.append(questions.wait(lambda: state["second"]))

    questions.wait(lambda: state["first"], release)
    state["first"] = True
    questions.poll()
    assert [answer.passed for answer in later] == [False]

    state["second"] = True
    questions.poll()

    assert [answer.passed for answer in later] == [True]
