"""What pytest and the process that forks for it say to each other."""

from __future__ import annotations

from typing import Final

import msgspec

MOST_BYTES: Final = 1 << 18
MOST_DESCRIPTORS: Final = 8
READY: Final = b"ready"
"""What the starter says first."""


class EmulatorRequest(msgspec.Struct, tag="emulator"):
    """One emulator; descriptors come with the packet: its output, then one for each option."""

    arguments: list[str]
    """Of `emuzero serve`."""
    options: list[str]
    """Options whose values are the descriptors behind the first."""
    variables: dict[str, str]
    """Its environment."""


class ProcessRequest(msgspec.Struct, tag="process"):
    """A child process of a test; with its output, and the socket of its steps."""

    name: str
    """What the test calls it."""
    command: list[str]
    """What it runs; empty: the function that it is told over the socket (see `child`)."""
    folder: str
    """Folder that it runs in."""
    variables: dict[str, str]
    """Its environment."""


class Answer(msgspec.Struct):
    """A child has begun, or ended."""

    pid: int
    status: int | None = None
    """As `waitpid` tells it; None: it has begun."""
