"""C programs on the library: calls that go to the driver, awake and asleep, and how one begins."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from hostdriver.clib.build import SOURCES, stand_ins
from scripts.benchmarks.limits import LimitProgram, compile_limit, limit_program
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import alternate, device_process, processors

ROUNDS = 15
CALLS = 400
WAKES = 40
PAUSE_MICROSECONDS = 5_000
"""After which neither side is awake any more."""
STARTS = 15
STARTS_ON_DEMAND = 5
NANOSECONDS_EACH_MICROSECOND = 1e3
NANOSECONDS_EACH_MILLISECOND = 1e6


def compiled(folder: Path) -> Path:
    """Compile the C program against the library."""
    names = stand_ins()
    return compile_limit(
        *("calls", folder, "-std=gnu11", f"-I{SOURCES / 'generated'}"),
        *(f"-L{names}", "-l:libze_loader.so.1", f"-Wl,-rpath,{names}"),
    )


def calls(program: Path) -> tuple[float, float, float]:
    """Return the medians in microseconds: a call awake, one asleep, the limit of that."""
    with ExitStack() as stack:
        emulator = stack.enter_context(device_process())
        limit = stack.enter_context(limit_program("wake", *processors()))
        process = stack.enter_context(
            subprocess.Popen(
                [str(program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "EMUZERO_SOCKET": str(emulator.path)},
            )
        )
        stack.callback(process.kill)
        asked = LimitProgram(process)
        asked.ask("call", 1, 0)
        # Both have begun: whoever finds one processor only at its start never spins.
        place = processors()
        if place.client >= 0:
            os.sched_setaffinity(process.pid, {place.client})
            os.sched_setaffinity(emulator.pid, {place.device})
        awake, asleep, wake = alternate(
            (
                lambda: asked.ask("call", CALLS, 0),
                lambda: asked.ask("call", WAKES, PAUSE_MICROSECONDS),
                lambda: limit.ask("wake", WAKES, PAUSE_MICROSECONDS),
            ),
            ROUNDS,
        )
    each = NANOSECONDS_EACH_MICROSECOND
    return awake / each, asleep / each, wake / each


def begins(program: Path, count: int, environment: dict[str, str]) -> float:
    """Return the median milliseconds from zeInit to the list of devices, of new processes."""
    samples: list[float] = []
    for _ in range(count):
        done = subprocess.run(
            [program, "begin"], env=environment, capture_output=True, text=True, check=True
        )
        samples.append(float(done.stdout) / NANOSECONDS_EACH_MILLISECOND)
    return statistics.median(samples)


def begins_on_demand(program: Path) -> float:
    """Return the same where nobody has started an emulator: each program gets one of its own."""
    samples: list[float] = []
    for _ in range(STARTS_ON_DEMAND):
        with tempfile.TemporaryDirectory() as folder:
            kept = {name: text for name, text in os.environ.items() if name != "EMUZERO_SOCKET"}
            own = {"XDG_RUNTIME_DIR": folder, "EMUZERO_PYTHON": sys.executable}
            samples.append(begins(program, 1, {**kept, **own}))
    return statistics.median(samples)


def run() -> list[Row]:
    """Measure; return a row a figure."""
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        awake, asleep, wake = calls(program)
        with device_process() as emulator:
            up = begins(program, STARTS, {**os.environ, "EMUZERO_SOCKET": str(emulator.path)})
        on_demand = begins_on_demand(program)

    def row(what: str, value: float, unit: str, limit: float, limit_is: str, bar: float = 1) -> Row:
        return Row(what=what, value=value, unit=unit, limit=limit, limit_is=limit_is, bar=bar)

    return [
        row("a call that goes to the driver, both sides awake", awake, "us", 20, "the bar"),
        row("the same after a pause of 5 ms", asleep, "us", wake, "two eventfds in C", 1.5),
        row("from zeInit to the list of devices, emulator up", up, "ms", 15, "the bar"),
        row("the same, emulator started on demand", on_demand, "ms", 600, "the bar"),
    ]
