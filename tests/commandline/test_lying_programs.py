"""Programs that tell nonsense of their calls: it is told as such, and costs nobody's account."""

from __future__ import annotations

import json
import sys

import pytest

from firmware.abi.channel import CHANNEL_COUNTS
from hostdriver.cli.trace.vocabulary import functions
from tests.harness.commandline import emuzero

LIAR = (sys.executable, "-m", "tests.harness.lying_program")
SMALL = ("--vram", "64MiB")


def test_counts_of_functions_that_do_not_exist_are_in_the_summary() -> None:
    assert len(functions()) < CHANNEL_COUNTS

    done = emuzero("run", *SMALL, "--summary", "--", *LIAR, "counts")

    assert done.returncode == 0, done.stderr
    assert f"  function {CHANNEL_COUNTS - 1} " in done.stderr
    assert "zeMemAllocHost " in done.stderr
    assert "allocated  1 host (8 KiB)" in done.stderr


def test_a_program_s_text_does_not_move_the_terminal() -> None:
    done = emuzero("trace", *SMALL, "--", *LIAR, "note")

    assert done.returncode == 0, done.stderr
    assert r"\x1b]0;mine\x07" in done.stderr
    assert all(line.isprintable() for line in done.stderr.splitlines())


@pytest.mark.parametrize("lie", ["note", "mark", "counts"])
def test_a_trace_goes_on_behind_nonsense(lie: str) -> None:
    done = emuzero("trace", *SMALL, "--json", "--", *LIAR, lie)

    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stderr.splitlines()]
    assert [one["kind"] for one in told][-1] == "end"
    results = [one["result"] for one in told if one.get("function") == "zeMemAllocHost"]
    assert results[-1] == "ZE_RESULT_SUCCESS"
    damaged = [one["error"] for one in told if "note is damaged" in one.get("error", "")]
    assert len(damaged) == (1 if lie == "note" else 0)
