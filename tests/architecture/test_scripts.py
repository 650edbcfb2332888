"""The scripts run whatever Python starts them, or say in one line what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))
STANDALONE = ("gen_level_zero.py", "gen_picture.py")
"""Scripts that need no packages."""
PROGRAMS = [path for path in SCRIPTS if path.name != "environment.py"]


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an interpreter that has no packages at all."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the scripts, in a tree without environment."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    return tmp_path


def run(
    python: Path, script: Path, *arguments: str, **changes: str
) -> subprocess.CompletedProcess[str]:
    env: Mapping[str, str] = {**os.environ, **changes}
    return subprocess.run(
        [python, script, *arguments], capture_output=True, text=True, check=False, env=env
    )


@pytest.mark.parametrize("name", [path.name for path in PROGRAMS])
def test_a_python_without_packages_is_told_what_to_do(
    bare_python: Path, tree: Path, name: str
) -> None:
    ended = run(bare_python, tree / "scripts" / name, "--help")

    if name in STANDALONE:
        assert ended.returncode == 0
        return
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert f"{bare_python} has no construct" in line
    assert "run ./scripts/demo once" in line


def test_the_interpreter_of_the_tree_takes_over(bare_python: Path, tree: Path) -> None:
    python = tree / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    # Stands for an environment: it has the packages, wherever they are.
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "import sys; print(sys.argv)" "$@"\n')
    python.chmod(0o755)
    script = tree / "scripts" / "gen_reference.py"

    ended = run(bare_python, script, "--check")

    assert ended.returncode == 0
    assert ended.stdout.strip() == f"['-c', '{script}', '--check']"


def test_scripts_are_found_from_any_folder(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, ROOT / "scripts" / "gen_reference.py", "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
