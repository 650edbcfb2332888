"""Import of the application's memory: map and free it, the same time whatever its size."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from hostdriver import levelzero as ze
from scripts.benchmarks.limits import limit_program
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import (
    MICROSECONDS,
    alternate,
    apart,
    device_process,
    median_of,
    seconds_of,
)
from tests.harness.application_memory import bring, mapped

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES: Final = {"4 KiB": 4 << 10, "2 MiB": 2 << 20, "256 MiB": 256 << 20}
BAR: Final = 40
TIMES: Final = 300
ROUNDS: Final = 5
PIECE: Final = 64 << 10


def import_once(context: ze.Context, address: int, size: int) -> None:
    """Make an allocation of memory and free it."""
    context.mem_free(bring(context, address, size))


def run() -> list[Row]:
    """Measure; return a row a size."""
    largest = max(SIZES.values())
    with (
        limit_program("map", PIECE) as system,
        device_process() as device,
        ze.connect(device.path, start=None) as driver,
        driver.create_context() as context,
        mapped(largest, offset=3 * 4096) as area,
        apart(device),
    ):

        def imported(size: int) -> float:
            call = partial(import_once, context, area, size)
            return median_of(partial(seconds_of, call), TIMES) * MICROSECONDS

        calls: list[Callable[[], float]] = [partial(imported, size) for size in SIZES.values()]
        calls.append(lambda: system.ask("map", PIECE, TIMES) / 1e3)
        *figures, mmap = alternate(calls, ROUNDS)
    return [
        Row(
            what=f"import and free {name}",
            value=figure,
            unit="us",
            limit=mmap,
            limit_is="mmap over a range and back, in C",
            bar=BAR,
            note="one command each way, and a look at the table of mappings",
        )
        for name, figure in zip(SIZES, figures, strict=True)
    ]
