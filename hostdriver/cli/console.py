"""Consoles: how people's output reaches a terminal, a pipe or a file."""

from __future__ import annotations

import os
import sys
from typing import Final

import click
from rich.console import Console

PLAIN_COLUMNS: Final = 100
"""Width of what goes to a pipe or a file, so that tables and hashes stay whole."""


def make_console() -> Console:
    """Return a console on standard output.

    Colours are off without a terminal, with NO_COLOR and with --no-color; nothing that is printed
    is taken for markup.
    """
    context = click.get_current_context(silent=True)
    plain = not sys.stdout.isatty()
    return Console(
        width=PLAIN_COLUMNS if plain and not os.environ.get("COLUMNS") else None,
        # None leaves the decision to NO_COLOR.
        no_color=True if context is not None and context.color is False else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def say(text: str) -> None:
    """Write one line to standard output at once, whoever reads it."""
    click.echo(text)
    sys.stdout.flush()


def say_aside(text: str) -> None:
    """Write one line to standard error."""
    click.echo(text, err=True)


def warn(text: str) -> None:
    """Write a warning to standard error."""
    say_aside(f"Warning: {text}")
