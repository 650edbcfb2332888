"""Programs to sweep: small ones, in Python, which need nothing built."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Protocol

import pytest

from tests.harness.children import ROOT

if TYPE_CHECKING:
    from pathlib import Path


class Sweeps(Protocol):
    """Runs `emuzero sweep` on a program in Python."""

    def __call__(self, body: str, *options: str) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def sweep(tmp_path: Path) -> Sweeps:
    """Return what sweeps a program."""

    def run(body: str, *options: str) -> subprocess.CompletedProcess[str]:
        program = tmp_path / "program.py"
        program.write_text(body, encoding="utf-8")
        return subprocess.run(
            [
                *(sys.executable, "-m", "hostdriver.cli", "sweep", "--vram", "64MiB"),
                *(*options, "--", sys.executable, str(program)),
            ],
            check=False,
            capture_output=True,
            text=True,
            timeout=280,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    return run
