"""An emulator that belongs to a command: however often it is told to end, it tidies up."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import os, signal, sys
from pathlib import Path
from hostdriver.cli.owned import owned
with owned(os.getppid(), Path(sys.argv[1])) as leaving:
    if sys.argv[2] == "serves":
        leaving.is_under_way = True
    for _ in range(3):
        signal.raise_signal(signal.SIGTERM)
    print("went on", flush=True)
signal.raise_signal(signal.SIGTERM)
print("ends by itself")
"""


def run(folder: Path, how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-c", PROGRAM, str(folder), how),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(name="folder")
def make_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "socket").touch()
    return folder


def test_what_comes_while_it_leaves_changes_nothing(folder: Path) -> None:
    """An owner with two threads that is killed tells twice."""
    done = run(folder, "serves")

    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\nends by itself\n", "")
    assert not folder.exists()


def test_before_it_serves_it_ends_at_once_and_leaves_nothing(folder: Path) -> None:
    done = run(folder, "begins")

    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGTERM, "", "")
    assert not folder.exists()


def test_whose_owner_has_gone_ends_at_once_and_leaves_nothing(folder: Path) -> None:
    gone = PROGRAM.replace("os.getppid()", "1 << 22")
    done = subprocess.run(
        (sys.executable, "-c", gone, str(folder), "begins"), cwd=ROOT, check=False
    )

    assert done.returncode == 128 + signal.SIGTERM
    assert not folder.exists()
