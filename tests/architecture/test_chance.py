"""Whoever meets a failure of a random test can have it again, by one printed command."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.chance import VARIABLE, again, new_seed
from tests.harness.commandline import environment

if TYPE_CHECKING:
    import random

ROOT = Path(__file__).parents[2]
FAIL = "EMUZERO_TEST_THAT_FAILS"


def run(nodeid: str, **env: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", nodeid],
        cwd=ROOT,
        env=environment(**env),
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stdout


def test_draw(chance: random.Random) -> None:
    """Pass, unless the test below wants to see a failure."""
    number = chance.getrandbits(64)
    assert FAIL not in os.environ, f"drew {number}"


@pytest.mark.slow
def test_a_failure_tells_the_command_that_repeats_it() -> None:
    nodeid = "tests/architecture/test_chance.py::test_draw"
    first = run(nodeid, **{FAIL: "1", VARIABLE: ""})

    found = re.search(rf"^{VARIABLE}=(\d+) (.+)$", first, re.MULTILINE)
    assert found is not None, first
    assert shlex.split(found[2]) == ["./scripts/test", "--all", nodeid]
    second = run(nodeid, **{FAIL: "1", VARIABLE: found[1]})
    assert re.findall(r"drew \d+", first)[0] in second


def test_the_environment_names_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0x10")
    assert new_seed() == 16
    monkeypatch.delenv(VARIABLE)
    assert new_seed() != new_seed()


def test_names_with_parameters_are_quoted_for_the_shell() -> None:
    assert again("a.py::b[c d]", 7) == f"{VARIABLE}=7 ./scripts/test --all 'a.py::b[c d]'"
