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
        "a doorbell of a client reaches the device; one that is lost is not heard until the same"
        " one is rung again, or the rule goes",
        (Drop, Delay, Repeat),
        Drop(),
        _SELECTORS,
    ),
    Point(
        "link.interrupt",
        Layer.LINK,
        Side.DEVICE,
        "the device interrupts a client, or wakes who waits on a word; who sleeps looks again"
        " within a tenth of a second all the same; `spurious` with `every` waits for no other",
        (Drop, Delay, Spurious),
        Drop(),
        _SELECTORS,
    ),
    Point(
        "link.tail",
        Layer.LINK,
        Side.DEVICE,
        "the device reads a new tail of a client's ring; what is behind a stale one waits for the"
        " next doorbell, or until the rule goes; one that cannot be stops the ring",
        (Stale, Torn, Value),
        Stale(),
        _SELECTORS,
    ),
    Point(
        "link.payload",
        Layer.LINK,
        Side.DEVICE,
        "the device reads the entries that a tail announced; before they were written a place holds"
        " the entry of the round before, or zeros",
        (Early,),
        Early(),
        _SELECTORS,
    ),
    Point(
        "link.reply",
        Layer.LINK,
        Side.DEVICE,
        "the device puts a reply into a client's completion ring; a lost one comes when the rule"
        " goes, one that comes again costs a program its device",
        (Repeat, Reorder, Drop, Delay),
        Repeat(),
        (*_SELECTORS, "opcode"),
    ),
    Point(
        "link.completed",
        Layer.LINK,
        Side.DEVICE,
        "the device publishes how far a work queue is, or the value of a fence; what was not"
        " published is with the queue's next turn, a fence when the rule goes",
        (Drop, Delay, Stale),
        Drop(),
        _SELECTORS,
    ),
)
"""Points of the link."""
