"""Chance that is none: numbers drawn from a seed, a name and a count, the same every time."""

from __future__ import annotations

import hashlib
from typing import Final

_BITS: Final = 64
_STEP: Final = 0x9E37_79B9_7F4A_7C15
"""An odd number far from any multiple of a width."""


def draw_bits(seed: int, name: str, count: int) -> int:
    """Return 64 bits that depend on nothing but the arguments."""
    text = f"{seed}:{count}:{name}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=_BITS // 8).digest(), "little")


def chosen_bits(bits: int, count: int, width: int) -> int:
    """Return a mask of `count` different bits out of `width`, chosen by a hit's `bits`."""
    mask = 0
    for number in range(min(count, width)):
        at = (bits + number * _STEP) % (1 << _BITS) % width
        while mask >> at & 1:
            at = (at + 1) % width
        mask |= 1 << at
    return mask


def draw(seed: int, name: str, count: int) -> float:
    """Return a number in [0, 1) that depends on nothing but the arguments."""
    return (draw_bits(seed, name, count) >> 11) / (1 << 53)
