"""Judging a run beside the undisturbed one."""

from __future__ import annotations

import msgspec
import pytest

from hostdriver.cli.sweep.outcome import Left, Outcome, Trial, judge

GOOD = Trial(
    exit_status=0, seconds=1.0, output="same", unfreed=Left({"events": 1}), remains=Left({})
)
FIRED = msgspec.structs.replace(GOOD, fired=1)


def _trial(**changes: object) -> Trial:
    return msgspec.structs.replace(FIRED, **changes)


@pytest.mark.parametrize(
    ("trial", "outcome", "told"),
    [
        (FIRED, Outcome.HANDLED, "went on"),
        (GOOD, Outcome.NOT_FIRED, "not reached"),
        (_trial(exit_status=3), Outcome.HANDLED, "exit status 3"),
        (_trial(exit_status=3, output="other"), Outcome.HANDLED, "exit status 3"),
        (_trial(output="other"), Outcome.WRONG, "other output"),
        (_trial(exit_status=None), Outcome.HANG, "had not ended"),
        (_trial(exit_status=139), Outcome.CRASH, "signal 11"),
        (_trial(exit_status=137), Outcome.CRASH, "signal 9"),
        (_trial(emulator_gone=True), Outcome.CRASH, "the emulator died"),
        (_trial(unfreed=Left({"events": 3})), Outcome.LEAK, "2 events"),
        (_trial(remains=Left({"imports": 1})), Outcome.LEAK, "still holds 1 imports"),
        (_trial(exit_status=3, remains=Left({"imports": 1})), Outcome.LEAK, "1 imports"),
        (_trial(exit_status=3, unfreed=Left({"events": 9})), Outcome.HANDLED, "exit status 3"),
    ],
)
def test_each_kind_of_run_is_told_apart(trial: Trial, outcome: Outcome, told: str) -> None:
    found = judge(trial, GOOD, compares_output=True, kills=False)
    assert found.outcome is outcome
    assert told in found.text


def test_a_process_that_the_rule_kills_has_not_crashed() -> None:
    killed = _trial(exit_status=137)
    assert judge(killed, GOOD, compares_output=True, kills=True).outcome is Outcome.HANDLED
    broken = _trial(exit_status=139)
    assert judge(broken, GOOD, compares_output=True, kills=True).outcome is Outcome.CRASH


def test_output_that_is_never_the_same_is_not_compared() -> None:
    other = _trial(output="other")
    assert judge(other, GOOD, compares_output=False, kills=False).outcome is Outcome.HANDLED


def test_only_handled_and_not_fired_are_good() -> None:
    assert {outcome for outcome in Outcome if outcome.is_good} == {
        Outcome.HANDLED,
        Outcome.NOT_FIRED,
    }
