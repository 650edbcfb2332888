"""Points: the named places where an injection can act."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from firmware.inject.actions import Action


class Layer(StrEnum):
    """Where in the stack a point is, from the application down."""

    API = "api"
    OS = "os"
    PEER = "peer"
    LINK = "link"
    COMMAND = "command"
    MCU = "mcu"
    DEVICE = "device"
    DMA = "dma"
    MMU = "mmu"
    MEMORY = "memory"


class Side(StrEnum):
    """Which process reaches a point. The driver of a C program is in the emulator."""

    DRIVER = "driver"
    DEVICE = "device"


class Point(NamedTuple):
    """One place where an injection can act."""

    name: str
    """Its name, `layer.what`; globs select it."""
    layer: Layer
    side: Side
    text: str
    """What happens there, for people."""
    actions: tuple[type[Action], ...]
    """What an injection can do there."""
    default: Action
    """What a sweep does there."""
    selectors: tuple[str, ...] = ()
    """Fields of `Site` that are known there."""
    fields: tuple[str, ...] = ()
    """Fields that an action may name; empty: those of whatever comes."""
