"""Sizes as people write and read them: 8GiB, 512MiB, 65536."""

import re
from typing import Final

import click

_UNITS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_PATTERN: Final = re.compile(r"(\d+)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Return the bytes that `text` names; units are powers of 1024.

    Raises:
        ValueError: not a number with one of the units K, M, G, T.
    """
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no size; write for example 65536, 512MiB or 8GiB")
    return int(match[1]) << _UNITS[match[2].upper()]


def format_size(size: int) -> str:
    """Return `size` with the unit in which it reads best."""
    if size < 1024:
        return f"{size} B"
    value = float(size)
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if value < 1024:
            return f"{value:.4g} {unit}"
    return f"{value / 1024:.4g} TiB"


def counted(number: int, name: str) -> str:
    """Return a number with the name of what it counts."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"


class SizeType(click.ParamType[int, object]):
    """A size on the command line."""

    name = "size"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the size in bytes."""
        if isinstance(value, int):
            return value
        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


SIZE: Final = SizeType()
