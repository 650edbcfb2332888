"""What an injection makes of a call of the interface: the errors that programs get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.inject.actions import FailLate, Refuse
from hostdriver.core.results import ZeError, ZeResult

if TYPE_CHECKING:
    from firmware.inject import Hit


def refusal(hit: Hit) -> ZeError | None:
    """Return how a call ends that a hit refuses; None: the hit does something else."""
    if not isinstance(hit.action, Refuse):
        return None
    result = ZeResult[hit.action.result]
    return ZeError(result, f"injected by rule {hit.rule!r}: {hit.site.call} was not carried out")


def late_failure(hit: Hit, ended: ZeResult) -> ZeError | None:
    """Return how a call ends that was carried out and `ended` by itself; None: so it is."""
    if not isinstance(hit.action, FailLate):
        return None
    result = ZeResult[hit.action.result]
    text = f"{hit.site.call} was carried out, and had ended with {ended.name}"
    return ZeError(result, f"injected by rule {hit.rule!r}: {text}")
