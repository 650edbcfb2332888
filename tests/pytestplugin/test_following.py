"""Drivers follow the rules of a test that has some: see `inner/following.py`."""

from __future__ import annotations

import pytest

from tests.harness.inner_pytest import run_inner

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.usefixtures("programs")
def test_rules_of_a_test_reach_its_drivers_and_those_of_what_it_starts(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EMUZERO_FAULTS_FOLLOW", raising=False)

    run = run_inner(pytester, "following")

    assert run.failures == {}
    # One is run for its site, too.
    run.result.assert_outcomes(passed=12)
