"""What a benchmark reports: a figure, its limit from the same run, and the bar for the ratio."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure."""

    what: str
    value: float
    unit: str
    limit: float
    """The limit, in the same unit, from the same run."""
    limit_is: str
    """What the limit is."""
    bar: float
    """Ratio value / limit that we want: at most (lower is better) or at least (higher is)."""
    higher_is_better: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        """The figure as a multiple of the limit."""
        return self.value / self.limit if self.limit else float("inf")

    @property
    def met(self) -> bool:
        """Whether the bar is met."""
        return self.ratio >= self.bar if self.higher_is_better else self.ratio <= self.bar

    def as_dict(self) -> dict[str, object]:
        """Return the row for JSON."""
        return asdict(self) | {"ratio": self.ratio, "met": self.met}


def interleaved_medians(
    calls: Sequence[Callable[[], object]], *, rounds: int = 15, repeat: int = 1
) -> list[float]:
    """Return the median seconds of one run of each call; rounds of all calls are interleaved.

    Interleaving makes a slow phase of the machine hit all of them alike, so that ratios hold.
    """
    samples: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for index, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(repeat):
                call()
            samples[index].append((time.perf_counter() - start) / repeat)
    return [statistics.median(times) for times in samples]
