"""Sizes as people write and read them: 8GiB, 512MiB, 65536."""

from typing import Final

import click

from firmware.abi.sizes import parse_size


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
