"""Seeds of the tests that do something else in each run, and how to have one again."""

from __future__ import annotations

import os
import random
import shlex
from typing import Final

import pytest

VARIABLE: Final = "EMUZERO_TEST_SEED"
SEED: Final = pytest.StashKey[int]()
"""Where a test that uses chance keeps its seed."""


def new_seed() -> int:
    """Return the seed that the environment names, else one of 32 bits that nobody foresees."""
    given = os.environ.get(VARIABLE)
    return int(given, 0) if given else random.SystemRandom().randrange(1 << 32)


def again(nodeid: str, seed: int) -> str:
    """Return the command that runs one test with a seed again."""
    return f"{VARIABLE}={seed} ./scripts/test --all {shlex.quote(nodeid)}"
