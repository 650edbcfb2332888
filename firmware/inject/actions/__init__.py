"""Actions: what an injection does at a point, with their parameters.

Each action is one word in a rule. Points say which actions they take; the wrappers of the points
carry them out. An action is a value and does nothing by itself.
"""

from firmware.inject.actions.base import Action, Parameter, parameters, usage
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
from firmware.inject.actions.table import ACTIONS
from firmware.inject.actions.words import Early, Reorder, Spurious, Stale, Torn, Value

__all__ = [
    "ACTIONS",
    "Action",
    "BadImage",
    "BadLength",
    "BadOpcode",
    "Close",
    "Correctable",
    "Crash",
    "Delay",
    "DeviceLost",
    "Drop",
    "Early",
    "Errno",
    "Fail",
    "FailLate",
    "FailWalk",
    "Flip",
    "Hang",
    "KeepStale",
    "Kill",
    "Lose",
    "Parameter",
    "Partial",
    "Refuse",
    "Remove",
    "Reorder",
    "Repeat",
    "Replay",
    "ReplyStatus",
    "Reset",
    "Retire",
    "Set",
    "Spurious",
    "Stale",
    "Stop",
    "Torn",
    "Uncorrectable",
    "Value",
    "Wedge",
    "WrongPage",
    "parameters",
    "usage",
]
