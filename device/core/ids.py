"""Numbers that a device gives out: never the same twice, also across resets."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import final


def _from_one() -> count[int]:
    return count(1)


@final
@dataclass(slots=True)
class Ids:
    """Counters of one device. Owner: the device; they survive its reset."""

    spaces: count[int] = field(default_factory=_from_one)
    """Numbers of address spaces (vmid)."""
    queues: count[int] = field(default_factory=_from_one)
    objects: count[int] = field(default_factory=_from_one)
    """Numbers of memory objects and imports."""
