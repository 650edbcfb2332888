"""Taking back, step by step, what a call had done before it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from hostdriver.core.results import Refusal, ZeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hostdriver.core.questions import Operation


@final
class Undo:
    """What has to be taken back should the rest fail.

    Owner: one call. Each step of the call that leaves something behind adds how that is taken back.
    """

    __slots__ = ("_steps",)

    def __init__(self) -> None:
        self._steps: list[Callable[[], Operation[None]]] = []

    def add(self, step: Callable[[], Operation[None]]) -> None:
        """Add how the last step of the call is taken back."""
        self._steps.append(step)

    async def run(self) -> None:
        """Take everything back, the last first.

        What a lost device does not take back any more ended with its session.
        """
        while self._steps:
            step = self._steps.pop()
            try:
                await step()
            except (Refusal, ZeError):
                continue
