"""Ending with the process that owns this one, and removing its folder then."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
from typing import TYPE_CHECKING, Final, final

from firmware.link.linux import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path
    from types import FrameType

TERMINATED: Final = 128 + signal.SIGTERM
"""Exit status, as a shell tells it, of a process that its owner's end ends before it serves."""


@final
class Leaving:
    """What SIGTERM does where nobody else takes it.

    The system tells of an owner's end once for each thread that the owner had. The first ends this
    process, and those that come while it leaves must not keep it from tidying up.
    """

    def __init__(self) -> None:
        self.is_under_way = False
        """Whether the process leaves without being told again."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Leave, unless that is under way."""
        del number, frame
        if not self.is_under_way:
            self.is_under_way = True
            sys.exit(TERMINATED)


@contextlib.contextmanager
def owned(owner: int | None, folder: Path) -> Generator[Leaving]:
    """End with the process that owns this one, if there is one; then its folder goes as well.

    Whoever serves takes SIGTERM by itself. From then on it leaves when that comes, and sets
    `is_under_way` of what this yields.
    """
    leaving = Leaving()
    if owner is None:
        yield leaving
        return
    signal.signal(signal.SIGTERM, leaving)
    try:
        end_with_parent(owner, signal.SIGTERM)
        yield leaving
    finally:
        leaving.is_under_way = True
        # The owner may have been killed, and cannot do it then.
        shutil.rmtree(folder, ignore_errors=True)
