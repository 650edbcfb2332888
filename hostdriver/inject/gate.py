"""The gate that calls of C programs pass: they are refused, held up, or fail in the end."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final, final

from firmware.inject import Site
from firmware.inject.actions import Delay, FailLate
from hostdriver.channel.ports import Later
from hostdriver.core.ze_result import ZeResult
from hostdriver.inject.peers import act_on
from hostdriver.inject.verdicts import late_failure, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.inject import Hit, Injector
    from hostdriver.channel.ports import Caller
    from hostdriver.inject.holding import Holding

_MOST_LATE: Final = 1 << 16
"""Calls that fail in the end and have not told of it; of threads that died some remain."""


@final
class RuleGate:
    """Asks the injector about every call (see `hostdriver.channel.ports.Gate`).

    Owner: the tap that put it in. `_late` has what becomes of calls that are being carried out.
    """

    __slots__ = ("_holding", "_injector", "_late", "_numbers")

    def __init__(self, injector: Injector, holding: Holding) -> None:
        self._injector = injector
        self._holding = holding
        self._numbers = count(1)
        self._late: dict[int, Hit] = {}

    async def before(self, caller: Caller) -> int:
        """Let a call begin, or not (see `Gate`)."""
        site = site_of(caller)
        if (hit := self._injector.ask("peer.before", site)) is not None:
            act_on(hit, caller.pid, self._holding)
        hit = self._injector.ask(f"api.{caller.call}", site)
        if hit is None:
            return 0
        if (error := refusal(hit)) is not None:
            raise error
        if isinstance(hit.action, Delay):
            await Later(partial(_hold, self._holding, hit, hit.action))
        return self._note(hit) if isinstance(hit.action, FailLate) else 0

    async def after(self, caller: Caller, number: int, result: int) -> None:
        """Let a call end, or fail (see `Gate`)."""
        if (hit := self._injector.ask("peer.after", site_of(caller))) is not None:
            act_on(hit, caller.pid, self._holding)
        late = self._late.get(number)
        if late is None or late.site.pid != caller.pid:
            return
        del self._late[number]
        if (error := late_failure(late, result_of(result))) is not None:
            raise error

    def _note(self, hit: Hit) -> int:
        if len(self._late) >= _MOST_LATE:
            del self._late[next(iter(self._late))]
        number = next(self._numbers)
        self._late[number] = hit
        return number


def site_of(caller: Caller, address: int = -1, size: int = 0) -> Site:
    """Return the site of a point that a caller reaches."""
    return Site(
        pid=caller.pid,
        process=caller.process,
        call=caller.call,
        thread=caller.thread,
        address=address,
        size=size,
    )


def result_of(number: int) -> ZeResult:
    """Return a result by its number; a program's library may tell nonsense."""
    try:
        return ZeResult(number)
    except ValueError:
        return ZeResult.ZE_RESULT_ERROR_UNKNOWN


def _hold(holding: Holding, hit: Hit, delay: Delay, go_on: Callable[[object], None]) -> None:
    holding.hold(hit, delay.seconds, lambda: go_on(None))
