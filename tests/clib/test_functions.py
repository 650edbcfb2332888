"""Functions of C programs among their work, and every end: the program's, the emulator's, both."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness.emulator_process import Audit, EmulatorProcess, emulator_process

Compile = Callable[[str], Path]
PATIENCE_SECONDS = 60


@contextmanager
def in_a_function(
    program: Path, what: str, emulator: EmulatorProcess
) -> Iterator[subprocess.Popen[bytes]]:
    """Run the program to where the emulator has told it to call one of its functions."""
    with subprocess.Popen(
        [program, what],
        env={**os.environ, "EMUZERO_SOCKET": str(emulator.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process


@pytest.fixture(name="before")
def look(emulator: EmulatorProcess) -> Iterator[Audit]:
    before = emulator.audit()
    yield before
    assert emulator.audit() == before


@pytest.mark.usefixtures("before")
def test_a_program_that_exits_in_a_function_leaves_nothing(
    compile_program: Compile, emulator: EmulatorProcess
) -> None:
    with in_a_function(compile_program("functions"), "leave", emulator) as program:
        _, errors = program.communicate(timeout=PATIENCE_SECONDS)

    assert (program.returncode, errors) == (0, b"")


@pytest.mark.usefixtures("before")
def test_a_program_that_ends_while_a_function_runs_does_not_wait_for_it(
    compile_program: Compile, emulator: EmulatorProcess
) -> None:
    with in_a_function(compile_program("functions"), "end", emulator) as program:
        _, errors = program.communicate(b"\n", timeout=PATIENCE_SECONDS)

    assert (program.returncode, errors) == (0, b"")


@pytest.mark.usefixtures("before")
def test_a_program_that_is_killed_in_a_function_leaves_nothing(
    compile_program: Compile, emulator: EmulatorProcess
) -> None:
    with in_a_function(compile_program("functions"), "stay", emulator) as program:
        program.kill()


def test_an_emulator_that_ends_while_a_function_runs_ends_every_wait(
    compile_program: Compile, tmp_path: Path
) -> None:
    with (
        emulator_process(tmp_path) as own,
        in_a_function(compile_program("functions"), "lose", own) as program,
    ):
        own.process.kill()
        assert program.stdout is not None
        assert program.stdout.readline() == b"lost\n"
        _, errors = program.communicate(b"\n", timeout=PATIENCE_SECONDS)

        assert (program.returncode, errors) == (0, b"")


@pytest.mark.slow
def test_functions_are_called_by_drivers_apart_too(
    compile_program: Compile, tmp_path: Path
) -> None:
    with emulator_process(tmp_path, apart=True) as apart:
        subprocess.run(
            [compile_program("functions")],
            env={**os.environ, "EMUZERO_SOCKET": str(apart.path)},
            check=True,
            timeout=PATIENCE_SECONDS,
        )
