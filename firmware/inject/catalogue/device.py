"""Points of the micro-controller and of the device as a whole."""

from __future__ import annotations

from typing import Final

from firmware.inject.actions import (
    BadImage,
    Crash,
    Delay,
    DeviceLost,
    Drop,
    Hang,
    Remove,
    ReplyStatus,
    Reset,
    Wedge,
)
from firmware.inject.point import Layer, Point, Side

_OF_COMMAND: Final = ("device", "pid", "process", "opcode", "object")

POINTS: Final = (
    Point(
        "mcu.command",
        Layer.MCU,
        Side.DEVICE,
        "the firmware carries out a control command and answers; an answer that is dropped goes out"
        " when the rule goes",
        (ReplyStatus, Delay, Drop, Crash),
        ReplyStatus(),
        _OF_COMMAND,
    ),
    Point(
        "mcu.boot",
        Layer.MCU,
        Side.DEVICE,
        "the micro-controller boots a firmware image, at power-up and after each reset",
        (BadImage,),
        BadImage(),
        ("device",),
    ),
    Point(
        "device.queue",
        Layer.DEVICE,
        Side.DEVICE,
        "an engine takes up the next work of a queue; after a reset the queue stops as by a fault",
        (Hang, Reset, Delay),
        Reset(),
        ("device", "pid", "process", "ring", "object"),
    ),
    Point(
        "device.round",
        Layer.DEVICE,
        Side.DEVICE,
        "the device begins a round of work for its clients; a rule with `after_seconds` makes one"
        " when its time has come, others wait until there is work",
        (Reset, Wedge, Remove, DeviceLost, Hang),
        Reset(),
        ("device",),
    ),
)
"""Points of micro-controller and device."""
