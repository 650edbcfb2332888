"""Seeds on the command line."""

from __future__ import annotations

from typing import Final

import click

from firmware.inject import RuleError, parse_seed


class SeedType(click.ParamType[int, object]):
    """A seed."""

    name = "integer"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the seed."""
        try:
            return parse_seed(str(value))
        except RuleError as error:
            self.fail(str(error), param, ctx)


SEED: Final = SeedType()
