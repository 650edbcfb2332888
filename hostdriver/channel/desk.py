"""The control ring of one program's device, without waiting: what has no room stands in line."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, final

from hostdriver.core.results import ZeError
from hostdriver.runtime.requests import Requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from firmware.link.ends import HostEnd
    from hostdriver.core.questions import Answer, Control
    from hostdriver.runtime.requests import Pending


@final
class Desk:
    """Sends commands and hands out their replies.

    Owner: a program's session; one thread. Invariant: each reply goes to whoever asked.
    """

    __slots__ = ("_asked", "_line", "_requests")

    def __init__(self, end: HostEnd) -> None:
        self._requests = Requests(end)
        self._asked: dict[Pending, Callable[[Answer | ZeError], None]] = {}
        self._line: deque[tuple[Control, Callable[[Answer | ZeError], None]]] = deque()

    @property
    def is_busy(self) -> bool:
        """Whether replies are awaited."""
        return self._requests.are_in_flight

    def send(self, question: Control, then: Callable[[Answer | ZeError], None]) -> None:
        """Send a command, now or when there is room; `then` gets the answer."""
        self._line.append((question, then))
        self._send_more()

    def poll(self) -> Iterator[tuple[Callable[[Answer | ZeError], None], Answer]]:
        """Yield whoever asked with the answer, for each reply that has come.

        Raises:
            ContractError: the reply ring is malformed.
        """
        taken = self._requests.take() if self.is_busy else []
        found = [(self._asked.pop(one), self._requests.answer_to(one)) for one in taken]
        if found:
            self._send_more()
        yield from found

    def _send_more(self) -> None:
        while self._line:
            question, then = self._line[0]
            try:
                sent = self._requests.post(
                    question.command, question.payload, question.room, question.descriptors
                )
            except ZeError as error:
                self._line.popleft()
                then(error)
                continue
            if sent is None:
                return
            self._line.popleft()
            self._asked[sent] = then
