"""What a check found."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Level(Enum):
    """How much it matters."""

    OK = "ok"
    WARNING = "warning"
    """Some programs will not run as they should."""
    PROBLEM = "problem"
    """No program will."""


class Finding(NamedTuple):
    """One thing that was looked at."""

    name: str
    level: Level
    found: str
    """What is there, in one line."""
    advice: str = ""
    """What to do; empty when all is well."""


def fine(name: str, found: str) -> Finding:
    """Return a finding that needs nothing."""
    return Finding(name, Level.OK, found)


def warning(name: str, found: str, advice: str) -> Finding:
    """Return a finding that matters to some programs."""
    return Finding(name, Level.WARNING, found, advice)


def problem(name: str, found: str, advice: str) -> Finding:
    """Return a finding that matters to all."""
    return Finding(name, Level.PROBLEM, found, advice)
