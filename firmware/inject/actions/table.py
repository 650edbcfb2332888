"""All actions by their words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.inject.actions.calls import (
    Close,
    Delay,
    Drop,
    Errno,
    FailLate,
    Kill,
    Refuse,
    Repeat,
    Replay,
    Stop,
)
from firmware.inject.actions.hardware import (
    BadImage,
    Crash,
    DeviceLost,
    Hang,
    Remove,
    ReplyStatus,
    Reset,
    Wedge,
)
from firmware.inject.actions.memory import (
    Correctable,
    Fail,
    FailWalk,
    KeepStale,
    Lose,
    Partial,
    Retire,
    Uncorrectable,
    WrongPage,
)
from firmware.inject.actions.records import BadLength, BadOpcode, Flip, Set
from firmware.inject.actions.words import Early, Reorder, Spurious, Stale, Torn, Value

if TYPE_CHECKING:
    from firmware.inject.actions.base import Action

ACTIONS: Final[dict[str, type[Action]]] = {
    action.WORD: action
    for action in (
        Refuse,
        FailLate,
        Errno,
        Delay,
        Drop,
        Repeat,
        Close,
        Kill,
        Stop,
        Replay,
        Reorder,
        Spurious,
        Stale,
        Torn,
        Value,
        Early,
        Flip,
        Set,
        BadOpcode,
        BadLength,
        Partial,
        Lose,
        WrongPage,
        FailWalk,
        KeepStale,
        Fail,
        Correctable,
        Uncorrectable,
        Retire,
        ReplyStatus,
        Crash,
        Hang,
        Wedge,
        Reset,
        Remove,
        DeviceLost,
        BadImage,
    )
}
"""All actions by their words."""
