"""Engines: what runs the work rings of clients."""

from device.core.engine.client import EngineClient
from device.core.engine.counters import SchedulerStatistics
from device.core.engine.queue import WorkQueue
from device.core.engine.scheduler import Scheduler
from device.core.engine.steps import Activity, Priority

__all__ = [
    "Activity",
    "EngineClient",
    "Priority",
    "Scheduler",
    "SchedulerStatistics",
    "WorkQueue",
]
