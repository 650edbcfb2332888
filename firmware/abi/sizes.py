"""Sizes as people write them: 8GiB, 512 MiB, 64K, 65536."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_PATTERN: Final = re.compile(r"([0-9]{1,20})(?:([KMGT])| ?(?:([KMGT])i)?B)?", re.IGNORECASE)
_DECIMAL: Final = re.compile(r"([0-9]{1,20}) ?([KMGT])B", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Return the bytes that `text` names; units are powers of 1024.

    Raises:
        ValueError: not a number with one of the units K, M, G, T right behind it, or B, KiB and so
            on. KB and so on mean powers of 1000 to some programs and of 1024 to others.
    """
    words = text.strip()
    match = _PATTERN.fullmatch(words)
    if match is not None:
        return int(match[1]) << _UNITS[(match[2] or match[3] or "").upper()]
    unclear = _DECIMAL.fullmatch(words)
    if unclear is not None:
        raise ValueError(
            f"{text!r} may mean powers of 1000 or of 1024; write {unclear[1]}{unclear[2].upper()}iB"
            " (1024), or the number of bytes, for example 65536, 512MiB or 8GiB"
        )
    raise ValueError(f"{text!r} is no size; write for example 65536, 512MiB or 8GiB")
