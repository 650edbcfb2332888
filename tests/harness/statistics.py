"""Statistics records with nothing in them, to be changed by tests."""

from __future__ import annotations

from typing import TypeVar

from firmware.abi import Record
from firmware.abi.registers import BootError, DeviceStatus, Phase
from firmware.abi.statistics import (
    ClientStatistics,
    DeviceStatistics,
    QueueStatistics,
    SpaceStatistics,
)

RecordT = TypeVar("RecordT", bound=Record)
VRAM_SIZE = 1 << 30
RUNNING = DeviceStatus.build(
    phase=Phase.RUNNING, boot_error=BootError.NONE, client_lost=False, poison=False
)


def record(kind: type[RecordT], **values: object) -> RecordT:
    """Return a record in which everything else is zero."""
    decoded = kind.unpack(bytes(kind.SIZE))
    assert isinstance(decoded, kind)
    fields = {field.name: getattr(decoded, field.name) for field in kind.FIELDS}
    return kind(**{**fields, **values})


def device_statistics(**values: object) -> DeviceStatistics:
    """Return the statistics of an idle device."""
    idle = {
        "name": b"test device",
        "status": RUNNING,
        "vram_size": VRAM_SIZE,
        "free_bytes": VRAM_SIZE,
    }
    return record(DeviceStatistics, **{**idle, **values})


def client_statistics(**values: object) -> ClientStatistics:
    """Return the statistics of a client."""
    return record(ClientStatistics, **values)


def space_statistics(**values: object) -> SpaceStatistics:
    """Return the statistics of an address space."""
    return record(SpaceStatistics, **values)


def queue_statistics(**values: object) -> QueueStatistics:
    """Return the statistics of a queue."""
    return record(QueueStatistics, **values)
