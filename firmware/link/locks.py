"""Locks between processes that nobody waits for without end: whoever has one may be stopped."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from typing import TYPE_CHECKING, Final

from firmware.link.errors import AttachError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

PATIENCE_SECONDS: Final = 30.0
"""Longer than anybody needs who is not stopped."""
_LOOK_SECONDS: Final = 0.005


@contextlib.contextmanager
def locked(
    path: Path,
    flags: int,
    *,
    patience_seconds: float = PATIENCE_SECONDS,
    is_needless: Callable[[], bool] = lambda: False,
) -> Generator[bool]:
    """Hold the lock of a file or folder; yield whether it is held.

    Args:
        path: the file or folder.
        flags: how it is opened.
        patience_seconds: how long to wait for it.
        is_needless: asked while another has it; once true, nobody waits any more (False).

    Raises:
        AttachError: another process has it for too long.
        OSError: it cannot be opened.
    """
    descriptor = os.open(path, flags | os.O_CLOEXEC, mode=0o600)
    try:
        yield _take(descriptor, path, patience_seconds, is_needless)
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: Path, seconds: float, is_needless: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not is_needless():
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise AttachError(
                    f"another process has the lock of {path} for {seconds:g} s: it may be stopped"
                ) from error
            time.sleep(_LOOK_SECONDS)
        else:
            return True
    return False
