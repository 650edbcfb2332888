"""Points of processes: they die, stop, and handles change on their way between them."""

from __future__ import annotations

from typing import Final

from firmware.abi.ipc import IpcHandle
from firmware.inject.actions import Flip, Kill, Replay, Set, Stop
from firmware.inject.point import Layer, Point, Side

_SELECTORS: Final = ("pid", "process", "call", "thread", "driver")

POINTS: Final = (
    Point(
        "peer.before",
        Layer.PEER,
        Side.DRIVER,
        "a process begins a call; `call` says which",
        (Kill, Stop),
        Kill(),
        _SELECTORS,
    ),
    Point(
        "peer.inside",
        Layer.PEER,
        Side.DRIVER,
        "a process is in the middle of a call: the driver asks its system or its device",
        (Kill, Stop),
        Kill(),
        _SELECTORS,
    ),
    Point(
        "peer.after",
        Layer.PEER,
        Side.DRIVER,
        "a process ends a call that was carried out, and has not heard of it",
        (Kill, Stop),
        Kill(),
        _SELECTORS,
    ),
    Point(
        "peer.handle",
        Layer.PEER,
        Side.DRIVER,
        "a process opens an IPC handle that it was given",
        (Flip, Set, Replay),
        Flip(),
        _SELECTORS,
        tuple(field.name for field in IpcHandle.FIELDS),
    ),
)
"""Points of processes."""
