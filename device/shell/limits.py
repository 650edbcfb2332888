"""Limits of the process that the device runs into with many clients."""

from __future__ import annotations

import contextlib
import resource


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open descriptors to the hard one; return the limit in force.

    Each host or shared allocation costs the emulator one descriptor; most users' soft limit is
    1,024.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
