"""Rules, recovery and sweeps in tests of a user: see `inner/injecting.py`."""

from __future__ import annotations

from typing import Final

import pytest

from tests.harness.inner_pytest import Run, run_here, run_inner

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SAYS: Final[dict[str, list[str]]] = {
    "test_a_call_does_not_fail": [
        "NotRecovered: the call returned 'fine', expected ZeError; rules fired 0 times"
    ],
    "test_a_call_fails_by_itself": [
        "NotRecovered: no rule has fired, and the call raised: ZE_RESULT_ERROR_INVALID_ARGUMENT"
    ],
    "test_a_call_does_not_recover": [
        "NotRecovered: with the rules gone the call raised LookupError: it remembers"
    ],
    "test_a_rule_is_wrong": ["RuleError: no action is called 'explode'; there are "],
    "test_a_failure_tells_of_rules": [
        "- emuzero: faults -",
        "second: memory.allocate fail nth=2 name=second (seen 2, fired 1)",
        "hit 1: second at memory.allocate#2, fail ",
    ],
    "TestMethods.test_a_marker_may_be_wrong": [
        "UsageError: emuzero_fail_nth: no action is called 'nosuch'"
    ],
    "TestMethods.test_it_forgets_what_it_had[memory.allocate#1]": [
        "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
        "memory.allocate fail nth=1 name=site: it happened",
        "this run again: pytest test_injecting.py::TestMethods::test_it_forgets_what_it_had '--emu",
        "'--emuzero-site=memory.allocate#1'",
    ],
    "test_it_needs_an_emulator": ["emuzero_fail_nth needs a fixture with an emulator"],
    "test_there_are_too_many": [
        " sites (memory.allocate ",
        "), at most 2: choose fewer points, or say at_most=",
    ],
    "test_there_is_no_site[no site]": ["the test reaches none of memory.access"],
}
"""What the failures of tests say."""
SWEPT: Final = """
import pytest
from hostdriver import levelzero as ze

@pytest.mark.emuzero_fail_nth("memory.allocate")
@pytest.mark.parametrize("number", [1, 2])
def test_swept(emuzero_context, emuzero_driver, emuzero_fault, number):
    try:
        pointer = emuzero_context.mem_alloc_device(emuzero_driver.devices[0], 4096)
    except ze.ZeError:
        assert emuzero_fault.nth != 1
    else:
        emuzero_context.mem_free(pointer)
"""

_RUNS: list[Run] = []


@pytest.fixture(name="run")
def run_once(pytester: pytest.Pytester, programs: None) -> Run:
    """Return the one run that all tests of this process look at."""
    if not _RUNS:
        _RUNS.append(run_inner(pytester, "injecting", "-v", "--emuzero-seed=7"))
    return _RUNS[0]


@pytest.mark.parametrize("test", SAYS)
def test_a_failure_says_what_is_wrong(run: Run, test: str) -> None:
    said = run.failures[test]

    assert [text for text in SAYS[test] if text not in said] == [], said


def test_a_wrong_rule_is_told_where_it_was_given_and_nowhere_inside(run: Run) -> None:
    said = run.failures["test_a_rule_is_wrong"]

    assert 'emuzero_inject("memory.allocate explode")' in said
    assert "hostdriver/" not in said
    assert "_ask" not in said


def test_a_test_is_run_for_each_site_and_fails_for_those_that_it_does_not_survive(run: Run) -> None:
    name = "TestMethods.test_it_forgets_what_it_had"
    failed = {test for test in run.failures if test.startswith(name)}
    lines = str(run.result.stdout)

    # The last site is that of the second allocation: the test leaves the first one behind then.
    assert len(failed) > 1
    last = f"{name}[memory.allocate#{len(failed)}]"
    assert "Leaked: the test left 1 behind in its driver:" in run.failures[last]
    assert f"{name.replace('.', '::')} PASSED" in lines


def test_everything_else_passes(run: Run) -> None:
    known = {*SAYS, "TestMethods.test_it_forgets_what_it_had"}

    assert {name for name in run.failures if name.partition("[m")[0] not in known} == set()


def test_one_site_can_be_run_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SWEPT)

    run = run_here(pytester, "--emuzero-site=memory.allocate#1", "-k", "1")

    run.result.assert_outcomes(passed=1, failed=1)
    assert set(run.failures) == {"test_swept[memory.allocate#1][1]"}


def test_workers_of_xdist_report_each_site(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SWEPT)

    run = run_here(pytester, "-n", "2")

    names = {f"test_swept[memory.allocate#1][{number}]" for number in (1, 2)}
    assert set(run.failures) == names
    outcomes = run.result.parseoutcomes()
    assert outcomes["failed"] == 2
    assert outcomes["passed"] > 4
