"""Status as JSON; docs/status.md describes every key.

Keys are the contract's field names. Within one schema number keys are only added.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from firmware.abi import Record
    from hostdriver.cli.observer import DeviceReport, Report

SCHEMA: Final = 1
_ELSEWHERE: Final = frozenset({"status", "device_index"})
"""Fields of the device's record that stand beside it."""


def document_of(report: Report, *, only: int | None = None) -> dict[str, object]:
    """Return a report as it is written in JSON, of all devices or of one."""
    return {
        "schema": SCHEMA,
        "socket": report.socket,
        "pid": report.pid,
        "devices": [
            _device(device) for device in report.devices if only is None or device.index == only
        ],
    }


def record_of(record: Record) -> dict[str, object]:
    """Return a record by its fields: names as text, enumerations by name, numbers as numbers."""
    return {
        field.name: plain(getattr(record, field.name))
        for field in record.FIELDS
        if field.constant is None and field.name not in _ELSEWHERE
    }


def plain(value: object) -> object:
    """Return a field's value as JSON has it."""
    if isinstance(value, bytes):
        return text_of(value)
    if isinstance(value, Enum):
        return value.name
    return value


def text_of(field: bytes) -> str:
    """Return a zero-padded name as text that is safe to show, whatever bytes a client sent."""
    text = field.rstrip(b"\0").decode(errors="replace")
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _device(device: DeviceReport) -> dict[str, object]:
    return {
        "index": device.index,
        "phase": device.status.phase.name,
        "boot_error": device.status.boot_error.name,
        "poison": bool(device.status.poison),
        "statistics": None if device.device is None else record_of(device.device),
        "clients": _records(device.clients),
        "spaces": _records(device.spaces),
        "queues": _records(device.queues),
    }


def _records(records: Iterable[Record]) -> list[dict[str, object]]:
    return [record_of(record) for record in records]
