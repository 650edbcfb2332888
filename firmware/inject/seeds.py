"""Seeds of chance: whole numbers of 64 bits, as every message and report can carry them."""

from __future__ import annotations

from typing import Final

from firmware.inject.errors import RuleError

LEAST_SEED: Final = -(1 << 63)
MOST_SEED: Final = (1 << 64) - 1


def check_seed(seed: int) -> int:
    """Return a seed that can be carried.

    Raises:
        RuleError: it has more than 64 bits.
    """
    if not LEAST_SEED <= seed <= MOST_SEED:
        raise RuleError(f"seed {seed}: expected a whole number of at most 64 bits")
    return seed


def parse_seed(text: str) -> int:
    """Return a seed that is written as a number, decimal or with the prefix 0x, 0o or 0b.

    Raises:
        RuleError: no whole number, or one of more than 64 bits.
    """
    try:
        seed = int(text, 0)
    except ValueError:
        raise RuleError(f"{text!r} is no whole number") from None
    return check_seed(seed)
