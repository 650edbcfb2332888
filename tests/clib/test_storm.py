"""Every function with null, garbage and stale arguments: no crash, no hang, nothing left."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from tests.harness.emulator_process import EmulatorProcess

THREADS = 4
PATIENCE_SECONDS = 500


@pytest.mark.parametrize("calls", [4_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_random_calls_of_many_threads_leave_nothing_in_program_and_emulator(
    calls: int, storm: Path, emulator: EmulatorProcess, chance: random.Random
) -> None:
    """The program looks after itself: descriptors, mappings, objects that cannot be destroyed."""
    before = emulator.audit()

    ended = subprocess.run(
        [storm, str(chance.getrandbits(32)), str(calls), str(THREADS)],
        env={**os.environ, "EMUZERO_SOCKET": str(emulator.path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    after = emulator.audit()
    assert after == replace(before, faults=after.faults)
