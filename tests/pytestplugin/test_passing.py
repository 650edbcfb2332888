"""What the fixtures give to tests that pass: see `inner/passing.py`."""

from __future__ import annotations

import pytest

from tests.harness.inner_pytest import run_inner

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.usefixtures("programs")
def test_each_fixture_does_what_its_page_says(pytester: pytest.Pytester) -> None:
    run = run_inner(pytester, "passing")

    assert run.failures == {}
    run.result.assert_outcomes(passed=24)
