"""Appends that the library records: the same order, results and memory as with calls."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hostdriver.core.results import ZeResult
from tests.harness.commandline import emuzero
from tests.harness.emulator_process import EmulatorProcess, emulator_process

Compile = Callable[[str], Path]
STEPS = "400"
ANSWERS = {"ZE_RESULT_SUCCESS", "ZE_RESULT_NOT_READY"}


def run(program: Path, emulator: EmulatorProcess, *arguments: str, **more: str) -> str:
    """Return what a program prints."""
    environment = {**os.environ, "EMUZERO_SOCKET": str(emulator.path), **more}
    command = [str(program), *arguments]
    done = subprocess.run(command, env=environment, check=True, timeout=120, stdout=subprocess.PIPE)
    return done.stdout.decode()


def told(text: str) -> list[tuple[str, str]]:
    """Return the calls that the program tells of after its begin, with their results."""
    found = re.findall(r"^(ze\w+) (\S+)$", text, re.MULTILINE)
    return [(name, ZeResult(int(result, 16)).name) for name, result in found]


@pytest.mark.parametrize(
    "seed", ["1", "2", *(pytest.param(str(n), marks=pytest.mark.slow) for n in range(3, 25))]
)
def test_whatever_is_appended_has_the_results_that_calls_have(
    seed: str, compile_program: Compile, emulator: EmulatorProcess
) -> None:
    program = compile_program("sequence")

    recorded = run(program, emulator, seed, STEPS)

    assert recorded == run(program, emulator, seed, STEPS, EMUZERO_RECORD="0")
    assert recorded.count("\n= ") > 5


def test_appends_return_while_the_emulator_stands_still(
    compile_program: Compile, tmp_path: Path
) -> None:
    with (
        emulator_process(tmp_path) as own,
        subprocess.Popen(
            [compile_program("recorded")],
            env={**os.environ, "EMUZERO_SOCKET": str(own.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as program,
    ):
        assert program.stdout is not None
        assert program.stdin is not None
        assert program.stdout.readline() == b"ready\n"
        os.kill(own.pid, signal.SIGSTOP)
        try:
            program.stdin.write(b"go\n")
            program.stdin.flush()
            assert program.stdout.readline() == b"done\n"
        finally:
            os.kill(own.pid, signal.SIGCONT)
        program.stdin.close()
        assert program.wait(timeout=30) == 0


def test_a_program_that_dies_with_appends_recorded_leaves_nothing(
    compile_program: Compile, emulator: EmulatorProcess
) -> None:
    before = emulator.audit()
    with subprocess.Popen(
        [compile_program("recorded")],
        env={**os.environ, "EMUZERO_SOCKET": str(emulator.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(b"go\n")
        program.stdin.flush()
        assert program.stdout.readline() + program.stdout.readline() == b"ready\ndone\n"
        program.kill()

    assert emulator.audit() == before


def test_errors_threads_children_and_late_failures_are_as_the_specification_wants(
    compile_program: Compile, emulator: EmulatorProcess
) -> None:
    before = emulator.audit()

    run(compile_program("appending"), emulator)

    assert emulator.audit() == replace(before, faults=before.faults)


def test_a_trace_tells_of_each_append_as_a_call(compile_program: Compile, tmp_path: Path) -> None:
    kept = tmp_path / "run.trace"
    program = compile_program("sequence")

    done = emuzero("trace", "--vram", "64MiB", "--output", kept, "--", program, "1", STEPS)

    assert (done.returncode, done.stderr) == (0, "")
    lines = emuzero("trace", "--json", kept).stdout.splitlines()
    calls = [one for one in map(json.loads, lines) if one["kind"] == "call"]
    traced = [(one["function"], one["result"]) for one in calls]
    first = traced.index(("zeContextCreate", "ZE_RESULT_SUCCESS"))
    assert traced[first + 1 :] == told(done.stdout)


def test_a_summary_counts_each_append(compile_program: Compile) -> None:
    program = compile_program("sequence")

    done = emuzero("run", "--vram", "64MiB", "--summary", "--", program, "1", STEPS)

    assert done.returncode == 0
    calls = told(done.stdout)
    errors = Counter(name for name, result in calls if result not in ANSWERS)
    rows = re.findall(r"^  (ze\w+) +([\d,]+) +([\d,]+) ", done.stderr, re.MULTILINE)
    counted = {name: (int(count), int(wrong)) for name, count, wrong in rows}
    for name, count in Counter(name for name, _ in calls).items():
        assert counted[name] == (count, errors[name]), name
