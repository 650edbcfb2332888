"""Summaries and traces of programs whose drivers run in processes of their own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commandline.test_summary import counts, processes
from tests.harness.commandline import emuzero

Compile = Callable[[str], Path]
OPTIONS = ("--vram", "64MiB", "--driver", "process")
KILLING = """
import subprocess, sys
with subprocess.Popen(sys.argv[1], stdin=-1, stdout=-1) as program:
    program.stdout.readline()
    program.kill()
"""
"""Kills a program when it has told that it is ready."""


def test_a_summary_tells_of_every_process(compile_program: Compile) -> None:
    done = emuzero("run", *OPTIONS, "--summary", "--", compile_program("leaves"), "fault")

    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    child, parent = sorted(processes(done.stderr), key=len)
    assert counts(parent, "zeMemAllocDevice") == (3, 1)
    assert counts(parent, "zeMemGetAddressRange") == (1, 0)
    assert "allocated  2 device (8 KiB), 1 host (4 KiB)" in parent
    assert "4 KiB copied, 4 KiB filled" in parent
    assert "faults     NOT_PRESENT at 0x" in parent
    assert parent.count("device memory, 4 KiB at 0x") == 2
    assert "not freed  none\n  handles    none" in child


def test_a_summary_tells_of_a_program_that_was_killed(compile_program: Compile) -> None:
    done = emuzero(
        *("run", *OPTIONS, "--summary", "--"),
        *(sys.executable, "-c", KILLING, compile_program("lost")),
    )

    assert done.returncode == 0, done.stderr
    [account] = processes(done.stderr)
    assert counts(account, "zeContextCreate") == (1, 0)


@pytest.mark.slow
def test_a_trace_tells_every_call_of_every_process(
    compile_program: Compile, tmp_path: Path
) -> None:
    told = {driver: trace(compile_program("leaves"), driver, tmp_path) for driver in DRIVERS}

    for driver in DRIVERS:
        begun = [one["pid"] for one in told[driver] if one["kind"] == "begin"]
        ended = [one["pid"] for one in told[driver] if one["kind"] == "end"]
        assert len({*begun}) == 2
        assert sorted(begun) == sorted(ended)
    # What threads do side by side comes in any order.
    assert sorted(map(gist, told["process"])) == sorted(map(gist, told["inline"]))


DRIVERS = ("inline", "process")


def trace(program: Path, driver: str, folder: Path) -> list[dict[str, Any]]:
    """Return the trace of a program as objects."""
    file = folder / driver
    options = ("--vram", "64MiB", "--driver", driver, "--output", file)
    done = emuzero("trace", *options, "--", program, "fault")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    return [json.loads(line) for line in emuzero("trace", "--json", file).stdout.splitlines()]


def gist(one: dict[str, Any]) -> tuple[str, str, str]:
    """Return what is the same in every run."""
    return one["kind"], str(one.get("function")), str(one.get("result"))
