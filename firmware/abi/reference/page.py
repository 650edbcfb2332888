"""What a reference page is made of."""

from enum import IntEnum, IntFlag
from typing import NamedTuple, TypeAlias

from firmware.abi._record import Record
from firmware.abi._word import Word

Declared: TypeAlias = type[Record] | type[Word] | type[IntEnum] | type[IntFlag]
"""A declaration; its section is heading, meaning and table."""

Part: TypeAlias = Declared | str
"""A declaration, `@name` of a table that is drawn from something else, or prose."""


class Page(NamedTuple):
    """One reference page."""

    file: str
    title: str
    summary: str
    """One sentence for the index."""
    parts: tuple[Part, ...]
