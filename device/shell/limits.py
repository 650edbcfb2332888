"""Limits of process and machine that the device runs into with many clients."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path
from typing import Final

_USUAL_MAPPINGS: Final = 65530


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open descriptors to the hard one; return the limit in force.

    Each host or shared allocation costs the emulator one descriptor; most users' soft limit is
    1,024.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def most_mappings() -> int:
    """Return how many mappings a process may have (vm.max_map_count)."""
    try:
        return int(Path("/proc/sys/vm/max_map_count").read_text())
    except (OSError, ValueError):
        return _USUAL_MAPPINGS


def physical_bytes() -> int:
    """Return the memory of this machine in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
