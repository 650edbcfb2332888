"""What the scheduler counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from device.core.engine.executor import ExecutorStatistics


@dataclass(frozen=True, slots=True)
class SchedulerStatistics:
    """Counters since boot, and what the queues do now."""

    queue_count: int
    commands: int
    """Work commands completed."""
    batched: int
    """Those that were moved by batches."""
    faults: int
    chunks: int
    """Chunks handed to the shell."""
    turns: int
    in_flight: int
    """Chunks that run in the shell now."""
    executor: ExecutorStatistics
