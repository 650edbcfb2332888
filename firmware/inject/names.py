"""Whether the names in actions mean anything."""

from __future__ import annotations

import errno
from difflib import get_close_matches
from typing import TYPE_CHECKING

from firmware.abi.registers import BootError
from firmware.abi.status import Status
from firmware.inject.actions import BadImage, Errno, FailLate, Refuse, ReplyStatus
from firmware.inject.catalogue.api import results
from firmware.inject.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Collection

    from firmware.inject.actions import Action


def check_names(action: Action) -> None:
    """See that what an action names is there.

    Raises:
        RuleError: no result, error, status or reason is called so.
    """
    match action:
        case Errno(error=name) if not hasattr(errno, name):
            raise RuleError(f"no error of the system is called {name!r}")
        case Refuse(result=name) | FailLate(result=name):
            _check("result", name, results())
        case ReplyStatus(status=name):
            _check("status of a reply", name, [one.name for one in Status if one])
        case BadImage(error=name):
            _check("reason to refuse an image", name, [one.name for one in BootError if one])
        case _:
            pass


def _check(what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        near = get_close_matches(name, known, 1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        there = ", ".join(sorted(known))
        raise RuleError(f"no {what} is called {name!r}{meant}; there are {there}")
