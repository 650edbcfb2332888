"""A program that finds no emulator: the library says why, once, where a person reads it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Compile = Callable[[str], Path]


def told(program: Path, socket: Path, **variables: str) -> str:
    """Return what a program writes to standard error where no emulator listens."""
    done = subprocess.run(
        [program],
        env={**os.environ, "EMUZERO_SOCKET": str(socket), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
    return done.stderr


@pytest.mark.parametrize("variables", [{}, {"EMUZERO_QUIET": ""}])
def test_one_line_tells_where_the_library_looked_and_what_helps(
    variables: dict[str, str], compile_program: Compile, tmp_path: Path
) -> None:
    socket = tmp_path / "nobody.sock"

    [line] = told(compile_program("nobody"), socket, **variables).splitlines()

    assert line.startswith(f"emuzero: no emulator listens at {socket}: No such file or directory (")
    assert "emuzero run -- PROGRAM" in line
    assert "EMUZERO_QUIET=1" in line


def test_a_variable_silences_it(compile_program: Compile, tmp_path: Path) -> None:
    assert not told(compile_program("nobody"), tmp_path / "nobody.sock", EMUZERO_QUIET="1")
