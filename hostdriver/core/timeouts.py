"""Time limits of the specification: nanoseconds as a 64-bit number, the largest being none."""

from __future__ import annotations

from typing import Final

from hostdriver.core.failures import invalid_argument

INFINITE: Final = (1 << 64) - 1
"""A time limit that never comes (UINT64_MAX)."""
_NANOSECONDS: Final = 1_000_000_000


def seconds_of(nanoseconds: int) -> float | None:
    """Return a time limit in seconds, as waits take it; None is for ever.

    Raises:
        ZeError: no number of 64 bits (INVALID_ARGUMENT).
    """
    if not 0 <= nanoseconds <= INFINITE:
        raise invalid_argument(f"timeout is {nanoseconds}, which is no 64-bit number")
    return None if nanoseconds == INFINITE else nanoseconds / _NANOSECONDS


def timeout_left(nanoseconds: int, spent: int) -> int:
    """Return what is left of a time limit after so many nanoseconds."""
    return nanoseconds if nanoseconds == INFINITE or not spent else max(0, nanoseconds - spent)
