"""Whether the files fit: into the device's memory, and into the host's, where that memory lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.paging import TABLE_ENTRIES, TABLE_SIZE
from hostdriver.cli.demo.content import manifest_room
from hostdriver.cli.demo.inputs import display_name
from hostdriver.cli.demo.window import plan
from hostdriver.cli.exits import BadInput
from hostdriver.cli.hostlimits import memory_limits
from hostdriver.cli.sizes import format_size
from hostdriver.core.physical import page_size_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hostdriver.cli.demo.window import Layout
    from hostdriver.cli.hostlimits import Limit

_TABLE_SPAN: Final = TABLE_ENTRIES << 12
"""Bytes that one table of 4 KiB pages maps."""
_SMALL_TABLES: Final = 32
"""Tables that address spaces and staging memory need, whatever is mapped."""


def check_fit(paths: Sequence[Path], vram_size: int, limits: Sequence[Limit] | None = None) -> int:
    """Return the size of all files.

    Args:
        paths: the files.
        vram_size: memory of the device.
        limits: memory that the host still has; None asks it.

    Raises:
        BadInput: they do not fit.
    """
    sizes = [path.stat().st_size for path in paths]
    names = [display_name(path.name) for path in paths]
    layout = plan(manifest_room(names, sizes), sizes, page_size_for)
    needed = layout.memory_size + _tables(layout)
    what = f"the files have {format_size(sum(sizes))} and need {format_size(needed)}"
    if needed > vram_size:
        raise BadInput(
            f"{what} of device memory, but the device has {format_size(vram_size)};"
            " --vram gives it another size"
        )
    for limit in memory_limits() if limits is None else limits:
        if needed > limit.free_bytes:
            raise BadInput(
                f"{what} of host memory, more than {limit.source}, {format_size(limit.free_bytes)}"
            )
    return sum(sizes)


def _tables(layout: Layout) -> int:
    """Return how many bytes the page tables of both processes need at most."""
    return 2 * (layout.range_size // _TABLE_SPAN + _SMALL_TABLES) * TABLE_SIZE
