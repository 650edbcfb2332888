"""Files and streams of rules that cannot be used: one line says so, and nothing hangs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hostdriver.cli.exits import Exit

COMMAND = (sys.executable, "-m", "hostdriver.cli")
FULL = Path("/dev/full")


def said(*words: str, full: bool = False) -> tuple[int, list[str]]:
    """Run a command, its output to a full device or nowhere; return exit code and messages."""
    with (FULL if full else Path("/dev/null")).open("w") as output:
        done = subprocess.run(
            [*COMMAND, *words],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=120,
            check=False,
        )
    return done.returncode, done.stderr.splitlines()


def test_a_scenario_without_an_end_is_none(tmp_path: Path) -> None:
    endless = tmp_path / "endless.yaml"
    endless.symlink_to("/dev/zero")
    code, lines = said("run", "--scenario", str(endless), "--", "true")
    assert (code, lines) == (Exit.USAGE, [f"Error: {endless}: more than 4 MiB, and no scenario"])


def test_a_report_that_finds_no_room_is_told() -> None:
    code, lines = said(
        *("run", "--fault", "device.round lost nth=1000", "--faults-report", str(FULL)),
        *("--", "true"),
    )
    assert code == Exit.FAILED
    assert lines[-1] == "Error: --faults-report /dev/full: No space left on device"
    assert len(lines) == 3


@pytest.mark.parametrize("words", [("faults", "list"), ("faults", "list", "--json")])
def test_output_that_finds_no_room_is_told(words: tuple[str, ...]) -> None:
    code, lines = said(*words, full=True)
    assert code == Exit.FAILED
    assert lines == ["Error: the output cannot be written: No space left on device"]
