"""C programs on the library: calls that it answers itself, beside C and the null driver."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hostdriver.clib.build import SOURCES, stand_ins
from scripts.benchmarks.limits import LimitProgram, compile_limit
from scripts.benchmarks.null_driver import Asked, rows_beside_null_driver
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import alternate, device_process

if TYPE_CHECKING:
    from collections.abc import Generator

ROUNDS = 9
MANY = 100_000
FEW = 2_000


class Measured(NamedTuple):
    """A figure: its question, how often it is asked, its limit's, and the bar."""

    what: str
    question: str
    limit: str
    limit_is: str
    bar: float


_FIND = "a sorted table behind a lock, searched in C"
_LOAD = "a word behind a lock, loaded in C"
_COUNT = "64 bytes behind a lock copied and counted in C"
FIGURES = (
    Measured("properties of a pointer, of 1,000 allocations", "properties", "find", _FIND, 2),
    Measured("properties of a pointer that is not the driver's", "unknown", "find", _FIND, 2),
    Measured("address range of a pointer", "range", "find", _FIND, 2),
    Measured("event polled, not signalled", "poll", "load", _LOAD, 4),
    Measured("event waited for without time, signalled", "wait", "load", _LOAD, 4),
    Measured("fence polled, not signalled", "fence", "load", _LOAD, 4),
    Measured("queue waited for without time, all done", "queue", "load", _LOAD, 4),
    Measured("event signalled and reset", "set", "load", _LOAD, 10),
    Measured("handle got and put, 8 threads, for each pair", "handles", "counts", _COUNT, 3),
)

UNDER_LOADER = (
    Asked("under a loader: properties of a pointer, of 1,000 allocations", "properties"),
    Asked("under a loader: properties of a pointer that is not the driver's", "unknown"),
    Asked("under a loader: address range of a pointer", "range"),
    Asked("under a loader: event polled", "poll"),
    Asked("under a loader: event waited for without time", "wait"),
    Asked("under a loader: fence polled", "fence"),
    Asked("under a loader: queue waited for without time", "queue"),
    Asked("under a loader: event signalled", "signal"),
    Asked("under a loader: append of a copy to a regular list", "append"),
)


@contextmanager
def program() -> Generator[LimitProgram]:
    """Run the C program on an emulator of its own."""
    names = stand_ins()
    options = (
        *("-std=gnu11", f"-I{SOURCES / 'generated'}"),
        *(f"-L{names}", "-l:libze_loader.so.1", f"-Wl,-rpath,{names}"),
    )
    with tempfile.TemporaryDirectory() as folder, device_process() as emulator:
        command = [str(compile_limit("program", Path(folder), *options))]
        environment = {**os.environ, "EMUZERO_SOCKET": str(emulator.path)}
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment
        ) as process:
            try:
                yield LimitProgram(process)
            finally:
                process.kill()


def run() -> list[Row]:
    """Measure; return a row a figure."""
    limits = sorted({each.limit for each in FIGURES})
    questions = [each.question for each in FIGURES] + limits
    with program() as asked:
        found = alternate([partial(asked.ask, each, MANY) for each in questions], ROUNDS)
        (call,) = alternate([partial(asked.ask, "calls", FEW)], ROUNDS)
    figures = dict(zip(questions, found, strict=True))
    rows = [
        Row(
            what=each.what,
            value=figures[each.question],
            unit="ns",
            limit=figures[each.limit],
            limit_is=each.limit_is,
            bar=each.bar,
        )
        for each in FIGURES
    ]
    rows.append(
        Row(
            what="properties of a pointer, beside a call that goes to the driver",
            value=figures["properties"],
            unit="ns",
            limit=call,
            limit_is="zeDeviceGetStatus",
            bar=0.1,
        )
    )
    return rows + rows_beside_null_driver("program", UNDER_LOADER)
