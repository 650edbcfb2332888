"""The examples of docs/pytest.md are tests that pass; a run without fixtures costs nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.harness.inner_pytest import run_here

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.timeout(300)

PAGE = Path(__file__).parents[2] / "docs" / "pytest.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOTHING_LARGE = """
import sys

def test_nothing_was_loaded():
    large = {"click", "construct", "device", "firmware", "msgspec", "numpy", "rich", "trio", "yaml"}
    assert sorted(large & set(sys.modules)) == []
    room = "hostdriver.pytestplugin"
    own = {f"{room}.{name}" for name in ("plugin", "fixtures", "outcome", "seed", "settings")}
    assert {name for name in sys.modules if name.startswith("hostdriver.")} == {room, *own}
"""


def test_a_run_that_uses_no_fixture_loads_nothing_large(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(NOTHING_LARGE)

    run = run_here(pytester, "-p", "no:trio", "-p", "no:hypothesispytest")

    run.result.assert_outcomes(passed=1)


def test_the_examples_of_the_page_pass(pytester: pytest.Pytester) -> None:
    for number, match in enumerate(BLOCK.finditer(PAGE.read_text(encoding="utf-8"))):
        (pytester.path / f"test_block{number}.py").write_text(match[1])

    run = run_here(pytester)

    assert run.failures == {}
    names = PAGE.read_text(encoding="utf-8").count("\ndef test_")
    # One test is run for each of its sites, too.
    assert run.result.parseoutcomes()["passed"] > names
    assert "skipped" not in run.result.parseoutcomes()
