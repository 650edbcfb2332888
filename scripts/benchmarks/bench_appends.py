"""C programs on the library: appends to regular lists, recorded and as calls, beside a ring."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hostdriver.clib.build import SOURCES, stand_ins
from scripts.benchmarks.limits import LimitProgram, compile_limit
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import alternate, device_process

if TYPE_CHECKING:
    from collections.abc import Generator

ROUNDS = 7
COPIES = 1_000
"""Appends of a list, which the ring of the channel takes all together."""
FEW = 100
"""Appends of a list that is made of calls."""
_PUT = "as many bytes put into a ring behind a lock in C"
_CALLS = "the same with EMUZERO_RECORD=0: each append a call"


@contextmanager
def programs() -> Generator[tuple[LimitProgram, LimitProgram]]:
    """Run the C program twice on one emulator: recording, and calling."""
    names = stand_ins()
    options = (
        *("-std=gnu11", f"-I{SOURCES / 'generated'}"),
        *(f"-L{names}", "-l:libze_loader.so.1", f"-Wl,-rpath,{names}"),
    )
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        emulator = stack.enter_context(device_process())
        command = [str(compile_limit("appends", Path(folder), *options))]

        def start(record: str) -> LimitProgram:
            environment = {**os.environ, "EMUZERO_SOCKET": str(emulator.path)}
            environment["EMUZERO_RECORD"] = record
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
            stack.enter_context(process)
            stack.callback(process.kill)
            return LimitProgram(process)

        yield start("1"), start("0")


def rows(recorded: list[float], called: list[float], put: float) -> list[Row]:
    """Return the rows of what was measured, in nanoseconds an append."""
    append, signal, whole, signals = recorded
    call, _, whole_calls, signals_calls = called
    second = 1e9
    return [
        Row(
            what="append of a copy to a regular list",
            value=append,
            unit="ns",
            limit=put,
            limit_is=_PUT,
            bar=20,
        ),
        Row(
            what="the same with an event to wait for and one to signal",
            value=signal,
            unit="ns",
            limit=put,
            limit_is=_PUT,
            bar=30,
        ),
        Row(
            what="append of a copy, beside one that is a call",
            value=append,
            unit="ns",
            limit=call,
            limit_is=_CALLS,
            bar=0.01,
        ),
        Row(
            what=f"appends of a list of {COPIES:,} copies, reset and close included",
            value=second / whole,
            unit="appends/s",
            limit=second / whole_calls,
            limit_is=_CALLS,
            bar=2,
            higher_is_better=True,
        ),
        Row(
            what="the same with events",
            value=second / signals,
            unit="appends/s",
            limit=second / signals_calls,
            limit_is=_CALLS,
            bar=2,
            higher_is_better=True,
        ),
    ]


def run() -> list[Row]:
    """Measure; return a row a figure."""
    questions = ("append", "signal", "list", "signals")
    with programs() as (recording, calling):
        ways = [partial(recording.ask, each, COPIES) for each in questions]
        ways += [partial(calling.ask, each, FEW) for each in questions]
        *found, put = alternate([*ways, partial(recording.ask, "put", COPIES)], ROUNDS)
    return rows(found[: len(questions)], found[len(questions) :], put)
