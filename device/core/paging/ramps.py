"""Writing entries that follow each other by the size of a leaf, or are the same if null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from device.core.paging.bits import LEAF_BYTES, NULL, RAMPS
from firmware.abi.paging import TABLE_ENTRIES, TABLE_SHIFT, TABLE_SIZE

if TYPE_CHECKING:
    from device.core.paging.bits import Entries, Numbers

_LONG: Final = 8
"""Tables written by one inner loop of numpy: from this length on it does not buffer its output."""
_LONG_RAMP: Final[Entries] = np.arange(_LONG * TABLE_ENTRIES, dtype=np.uint64) * np.uint64(
    LEAF_BYTES[0]
)


def write_ramp(entries: Entries, word: int, count: int, first: int, level: int) -> None:
    """Write `count` entries, at most a table, from `word` on; `first` is the first."""
    if first & NULL:
        entries[word : word + count] = first
        return
    np.add(RAMPS[level][:count], np.uint64(first), out=entries[word : word + count])


def write_tables(entries: Entries, addresses: Numbers, first: int, level: int) -> None:
    """Fill whole tables that continue each other; `first` is the first entry of the first one."""
    count = len(addresses)
    step = 0 if first & NULL else LEAF_BYTES[level] << TABLE_SHIFT
    firsts = np.arange(count, dtype=np.uint64) * np.uint64(step) + np.uint64(first)
    frame = int(addresses[0]) // TABLE_SIZE
    tables = entries.reshape(-1, TABLE_ENTRIES)
    if first & NULL:
        tables[addresses // TABLE_SIZE] = first
    elif int(addresses[-1]) - int(addresses[0]) != (count - 1) * TABLE_SIZE:
        tables[addresses // TABLE_SIZE] = firsts[:, np.newaxis] + RAMPS[level]
    else:
        long = 0 if level else count // _LONG * _LONG
        out = tables[frame : frame + long].reshape(-1, _LONG * TABLE_ENTRIES)
        np.add(firsts[:long:_LONG, np.newaxis], _LONG_RAMP, out=out)
        out = tables[frame + long : frame + count]
        np.add(firsts[long:, np.newaxis], RAMPS[level], out=out)
