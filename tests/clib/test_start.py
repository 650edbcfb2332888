"""C programs without an emulator: one is started for all of them, and ends after the last."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness.commandline import PATIENCE_SECONDS, emuzero, environment

Compile = Callable[[str], Path]


@pytest.fixture(name="found")
def make_environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of programs that may start an emulator in a folder of the test."""
    return environment(XDG_RUNTIME_DIR=str(tmp_path), EMUZERO_PYTHON=sys.executable)


@contextlib.contextmanager
def running(program: Path, env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Run the program until its input ends."""
    with subprocess.Popen(
        [program], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process


def is_ready(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    return process.stdout.readline() == "ready\n"


def leave(process: subprocess.Popen[str]) -> int:
    """Let a program end; return its exit code."""
    assert process.stdin is not None
    process.stdin.close()
    return process.wait(PATIENCE_SECONDS)


def emulator_of(found: dict[str, str]) -> int:
    """Return the process of the shared emulator."""
    shown = emuzero("status", "--json", env={"XDG_RUNTIME_DIR": found["XDG_RUNTIME_DIR"]})
    assert shown.returncode == 0, shown.stderr
    return int(json.loads(shown.stdout)["pid"])


def test_programs_that_begin_at_once_start_one_emulator_which_ends_after_them(
    compile_program: Compile, found: dict[str, str], tmp_path: Path
) -> None:
    program = compile_program("starts")
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(running(program, found)) for _ in range(5)]
        assert all(is_ready(process) for process in programs)

        emulator = os.pidfd_open(emulator_of(found))
        stack.callback(os.close, emulator)
        assert [leave(process) for process in programs[1:]] == [0] * 4
        assert not select.select([emulator], [], [], 0)[0]
        assert leave(programs[0]) == 0

        assert select.select([emulator], [], [], PATIENCE_SECONDS)[0]
        log = (tmp_path / "emuzero" / "shared.log").read_text()
        assert log.count("emuzero: ") == 1, log


def refusal(program: Path, found: dict[str, str]) -> str:
    done = subprocess.run(
        [program], env=found, input="", capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "zeInit(0) is 0x78000001" in done.stderr
    return done.stderr


def test_a_program_that_may_not_start_one_is_told_what_does(
    compile_program: Compile, found: dict[str, str], tmp_path: Path
) -> None:
    del found["EMUZERO_PYTHON"]

    text = refusal(compile_program("starts"), found)

    assert f"no emulator listens at {tmp_path}/emuzero/shared.sock: No such file" in text
    assert 'eval "$(emuzero env)"' in text


def test_a_socket_that_is_named_is_left_alone(
    compile_program: Compile, found: dict[str, str], tmp_path: Path
) -> None:
    named = tmp_path / "named.sock"

    assert f"no emulator listens at {named}" in refusal(
        compile_program("starts"), {**found, "EMUZERO_SOCKET": str(named)}
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("interpreter", "problem"),
    [
        ("/no/such/python", "EMUZERO_PYTHON names nothing that can be run"),
        ("/bin/true", "could be started by /bin/true: it ended without a word"),
    ],
    ids=["missing", "silent"],
)
def test_an_interpreter_that_does_not_help_is_told(
    interpreter: str, problem: str, compile_program: Compile, found: dict[str, str]
) -> None:
    text = refusal(compile_program("starts"), {**found, "EMUZERO_PYTHON": interpreter})

    assert problem in text


def test_a_folder_that_is_open_to_others_is_told(
    compile_program: Compile, found: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "emuzero").mkdir()
    (tmp_path / "emuzero").chmod(0o777)

    assert "is open to others" in refusal(compile_program("starts"), found)


def test_what_env_prints_is_enough_for_a_program_to_start_one(
    compile_program: Compile, tmp_path: Path
) -> None:
    env = environment(XDG_RUNTIME_DIR=str(tmp_path))
    lines = emuzero("env", env={"XDG_RUNTIME_DIR": str(tmp_path)}).stdout

    done = subprocess.run(
        ["sh", "-c", f'{lines}\nexec "$0" </dev/null', compile_program("starts")],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "ready\n"), done.stderr
