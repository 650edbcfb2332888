"""Seeds on the command line and in the environment."""

from __future__ import annotations

from typing import Final

import click

from firmware.inject import RuleError, check_seed


def parse_seed(text: str) -> int:
    """Return a seed, decimal or with the prefix 0x, 0o or 0b.

    Raises:
        ValueError: no whole number, or one of more than 64 bits.
    """
    try:
        seed = int(text, 0)
    except ValueError:
        raise ValueError(f"{text!r} is no whole number") from None
    try:
        return check_seed(seed)
    except RuleError as error:
        raise ValueError(str(error)) from None


class SeedType(click.ParamType[int, object]):
    """A seed."""

    name = "integer"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the seed."""
        try:
            return parse_seed(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


SEED: Final = SeedType()
