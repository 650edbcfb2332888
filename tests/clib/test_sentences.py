"""Sentences of the specification that only a C program can see."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.harness.emulator_process import EmulatorProcess


@pytest.mark.sentence("API-03", "API-04", "API-05", "RANGE-39", "HANDLETYPE-06", "MEMMAP-10")
@pytest.mark.sentence("FREE-11", "LIMITS-05", "COMPRESS-04")
@pytest.mark.decision("C4", "C11b", profile="both")
@pytest.mark.error("Any function", "NH", "NP")
@pytest.mark.error("ContextCreateEx", "IS")
def test_structures_queries_and_failures_are_what_a_c_program_expects(
    compile_program: Callable[[str], Path], emulator: EmulatorProcess
) -> None:
    environment = {**os.environ, "EMUZERO_SOCKET": str(emulator.path)}

    subprocess.run([compile_program("sentences")], env=environment, check=True, timeout=60)
