"""Points of the link: doorbells, interrupts, the words of rings, completions."""

from __future__ import annotations

from typing import Final

from firmware.inject.actions import (
    Delay,
    Drop,
    Early,
    Reorder,
    Repeat,
    Spurious,
    Stale,
    Torn,
    Value,
)
from firmware.inject.point import Layer, Point, Side

_SELECTORS: Final = ("device", "pid", "process", "ring")

POINTS: Final = (
    Point(
        "link.doorbell",
        Layer.LINK,
        Side.DEVICE,
        "a doorbell of a client reaches the device",
        (Drop, Delay, Repeat),
        Drop(),
        _SELECTORS,
    ),
    Point(
        "link.interrupt",
        Layer.LINK,
        Side.DEVICE,
        "the device interrupts a client, or wakes who waits on a word",
        (Drop, Delay, Spurious),
        Drop(),
        _SELECTORS,
    ),
    Point(
        "link.tail",
        Layer.LINK,
        Side.DEVICE,
        "the device reads the tail of a client's ring",
        (Stale, Torn, Value),
        Stale(),
        _SELECTORS,
    ),
    Point(
        "link.payload",
        Layer.LINK,
        Side.DEVICE,
        "the device reads the entries that a tail announced",
        (Early,),
        Early(),
        _SELECTORS,
    ),
    Point(
        "link.reply",
        Layer.LINK,
        Side.DEVICE,
        "the device puts a reply into a client's completion ring",
        (Repeat, Reorder, Drop, Delay),
        Repeat(),
        (*_SELECTORS, "opcode"),
    ),
    Point(
        "link.completed",
        Layer.LINK,
        Side.DEVICE,
        "the device publishes how far a work queue is, or the value of a fence",
        (Drop, Delay, Stale),
        Drop(),
        _SELECTORS,
    ),
)
"""Points of the link."""
