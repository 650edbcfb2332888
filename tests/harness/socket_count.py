"""Counts what this process sends on sockets, as the interpreter itself tells."""

from __future__ import annotations

import sys

_SENDING = {"socket.sendmsg", "socket.sendto"}
_sent = 0


def _hook(event: str, _: tuple[object, ...]) -> None:
    global _sent  # noqa: PLW0603 - a hook can never be taken away
    if event in _SENDING:
        _sent += 1


sys.addaudithook(_hook)


def sent() -> int:
    """Return how many messages this process sent since this module was imported."""
    return _sent
