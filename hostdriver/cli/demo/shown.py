"""Arguments and results of API calls, as people read them."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import TYPE_CHECKING, Final, cast

from hostdriver.api.context import Context
from hostdriver.api.device import Device
from hostdriver.api.physical_handle import PhysicalMem
from hostdriver.cli.records import hexadecimal
from hostdriver.cli.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

_SMALL: Final = 10
"""Smaller numbers read the same in both bases."""
_MOST_ITEMS: Final = 3
"""Longer lists are counted."""


def shown(value: object) -> str:
    """Return a value in one line: numbers as hex, bytes counted, descriptors with their fields."""
    if isinstance(value, Enum):
        return value.name or "0"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if value < _SMALL else hexadecimal(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return counted(memoryview(cast("bytes", value)).nbytes, "byte")
    names = _names(value)
    if names is not None:
        parts = [f"{name}={shown(_of(value, name))}" for name in names]
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, list | tuple):
        return _list(cast("Sequence[object]", value))
    return _object(value)


def _list(items: Sequence[object]) -> str:
    if len(items) > _MOST_ITEMS:
        return f"[{len(items)} {type(items[0]).__name__}]"
    return f"[{', '.join(shown(item) for item in items)}]"


def _object(value: object) -> str:
    """Return what an object of the driver is called; others by their text."""
    match value:
        case Device():
            return f"device {value.index}"
        case PhysicalMem():
            return f"object {value.record.id}"
        case Context():
            return "a context"
        case _:
            return str(value)


def _of(value: object, name: str) -> object:
    found: object = getattr(value, name)
    return found


def _names(value: object) -> list[str] | None:
    """Return the fields of a structure (of a descriptor those that somebody set), else None."""
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return [field.name for field in fields if _of(value, field.name) != field.default]
    named: Sequence[str] | None = getattr(value, "_fields", None)
    return None if named is None else list(named)
