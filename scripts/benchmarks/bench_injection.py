"""Fault injection that injects nothing: what a command costs with its code there, and without.

Two processes step a device by hand and carry out the same commands; in one the modules of injection
were never imported. Figures are processor time of the process, of rounds that take turns. Where a
process happens to have its memory moves it by a percent or two for as long as it lives, so several
pairs of processes are asked, and as many pairs that both lack the code tell how far that goes.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from firmware.abi.control import Nop, ObjectCreate, ObjectDestroy
from firmware.abi.control_kinds import ObjectFlags, ObjectKind
from firmware.abi.replies import ObjectCreated
from scripts.benchmarks.report import Row
from tests.harness.devicepair import DevicePair

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawClient

ROOT: Final = Path(__file__).resolve().parents[2]
PAIRS: Final = 9
ROUNDS: Final = 31
"""Of each pair."""
COMMANDS: Final = 250
"""Of each kind in a round."""
WITH, WITHOUT = "with", "without"


def carry_out(client: RawClient) -> int:
    """Carry a round of commands out; return the processor time of one in nanoseconds."""
    create = ObjectCreate(
        request=1, kind=ObjectKind.VRAM, flags=ObjectFlags.NONE, size_bytes=4096, page_size=4096
    )
    start = time.process_time_ns()
    for _ in range(COMMANDS):
        client.call(Nop(request=1))
        made = client.call(create)
        if not isinstance(made, ObjectCreated):
            raise TypeError(f"a command of the benchmark was answered {made}")
        client.call(ObjectDestroy(request=1, object_id=made.object_id))
    return (time.process_time_ns() - start) // (3 * COMMANDS)


def serve(kind: str) -> None:
    """Be one of the two processes: a line in, a figure out."""
    pair = DevicePair(vram_size=4 << 20, strict=False)
    if kind == WITH:
        from device.inject import device_taps  # noqa: PLC0415 - the other one must not have it
        from firmware.inject import Board, Injector  # noqa: PLC0415

        injector = Injector(lambda: pair.now / 1e9)
        board = Board(injector, device_taps(pair.device, injector))
        board.update()
        if board.installed:
            raise RuntimeError(f"{board.installed} wrappers are in without a rule")
    elif any("inject" in name.split(".") for name in sys.modules):
        raise RuntimeError("modules of injection were imported")
    client = pair.attach()
    # As in the emulator, whose collections of all objects are left out.
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], 1 << 30)
    for _ in sys.stdin:
        print(carry_out(client), flush=True)


def ask(process: subprocess.Popen[str]) -> int:
    """Return the figure of one round."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("a process without pipes")
    process.stdin.write("\n")
    process.stdin.flush()
    return int(process.stdout.readline())


class Compared(NamedTuple):
    """What two processes took that did the same."""

    ratio: float
    """Of the first to the second."""
    second: float
    """Microseconds of processor time of the second, for a command."""


def compare(first: str, second: str) -> Compared:
    """Compare two new processes of these kinds.

    In turns, so that a slow phase of the machine is in both; who is first changes.
    """
    with ExitStack() as ended:
        processes = [ended.enter_context(start(kind)) for kind in (first, second)]
        for process in processes:
            ended.callback(process.kill)
            ask(process)
        figures: tuple[list[int], list[int]] = ([], [])
        for number in range(ROUNDS):
            for index in (0, 1) if number % 2 else (1, 0):
                figures[index].append(ask(processes[index]))
    ratio = median(one / other for one, other in zip(*figures, strict=True))
    return Compared(ratio, median(figures[1]) / 1e3)


def start(kind: str) -> subprocess.Popen[str]:
    """Start one of the processes."""
    return subprocess.Popen(
        [sys.executable, "-m", "scripts.benchmarks.bench_injection", kind],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run() -> list[Row]:
    """Measure; return a row."""
    pairs = [(compare(WITH, WITHOUT), compare(WITHOUT, WITHOUT)) for _ in range(PAIRS)]
    ratio = median(compared.ratio for compared, _ in pairs)
    without = median(compared.second for compared, _ in pairs)
    same = sorted(control.ratio for _, control in pairs)
    return [
        Row(
            what="a control command of a device without a rule, processor time",
            value=without * ratio,
            unit="us",
            limit=without,
            limit_is="the same without the code of injection",
            bar=1.01,
            note=f"median of {PAIRS} pairs of processes; of pairs that both are without it the"
            f" ratio is {same[0]:.3f} to {same[-1]:.3f}, {median(same):.3f} in the middle",
        )
    ]


if __name__ == "__main__":
    serve(sys.argv[1])
