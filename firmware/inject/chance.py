"""Chance that is none: numbers drawn from a seed, a name and a count, the same every time."""

from __future__ import annotations

import hashlib
from typing import Final

_BITS: Final = 64


def draw_bits(seed: int, name: str, count: int) -> int:
    """Return 64 bits that depend on nothing but the arguments."""
    text = f"{seed}:{count}:{name}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=_BITS // 8).digest(), "little")


def draw(seed: int, name: str, count: int) -> float:
    """Return a number in [0, 1) that depends on nothing but the arguments."""
    return (draw_bits(seed, name, count) >> 11) / (1 << 53)
