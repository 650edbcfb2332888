"""The control ring of one program's device, without waiting: what has no room stands in line."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, final

from firmware.abi.replies import Reply, decode_reply
from firmware.abi.rings import CONTROL_QUEUE, U32_MASK
from firmware.link.errors import ContractError
from firmware.link.layout import control_shape
from firmware.link.rings import Consumer, Producer
from hostdriver.core.results import ZeError
from hostdriver.runtime.control import Pending, address_command, answer_of, send_descriptors
from hostdriver.runtime.payload import PayloadArea

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from firmware.link.ends import HostEnd
    from hostdriver.core.questions import Answer, Control


@final
class Desk:
    """Sends commands and hands out their replies.

    Owner: a program's session; one thread. Invariant: requests in flight are at most
    `most_in_flight`, so that no ring overflows; each reply goes to whoever asked.
    """

    __slots__ = (
        "_commands",
        "_end",
        "_last",
        "_line",
        "_payload",
        "_pending",
        "_replies",
        "most_in_flight",
    )

    def __init__(self, end: HostEnd) -> None:
        block = end.superblock
        words = end.segment.words
        self._end = end
        self._commands = Producer(
            words, block.control_ring_offset, control_shape(block.control_ring_entries)
        )
        self._replies = Consumer(
            words, block.reply_ring_offset, control_shape(block.reply_ring_entries)
        )
        self.most_in_flight = max(1, min(block.control_ring_entries, block.reply_ring_entries) // 2)
        self._payload = PayloadArea(words, block.payload_offset, block.payload_size)
        self._pending: dict[int, tuple[Pending, Callable[[Answer | ZeError], None]]] = {}
        self._line: deque[tuple[Control, Callable[[Answer | ZeError], None]]] = deque()
        self._last = 0

    @property
    def is_busy(self) -> bool:
        """Whether replies are awaited."""
        return bool(self._pending)

    def send(self, question: Control, then: Callable[[Answer | ZeError], None]) -> None:
        """Send a command, now or when there is room; `then` gets the answer."""
        self._line.append((question, then))
        self._send_more()

    def poll(self) -> Iterator[tuple[Callable[[Answer | ZeError], None], Answer]]:
        """Yield whoever asked with the answer, for each reply that has come.

        Raises:
            ContractError: the reply ring is malformed.
        """
        count = self._replies.available() if self._pending else 0
        found = [self._take(decode_reply(self._replies.fetch())) for _ in range(count)]
        if count:
            self._replies.publish_head()
            self._send_more()
        yield from found

    def _send_more(self) -> None:
        while self._line and len(self._pending) < self.most_in_flight:
            question, then = self._line[0]
            size = max(len(question.payload), question.room)
            place = self._payload.take(size) if size else None
            if size and place is None:
                return
            self._line.popleft()
            if place is not None:
                self._payload.store(place, question.payload)
            request = self._next_request()
            if question.descriptors:
                try:
                    send_descriptors(self._end.carrier, request, question.descriptors)
                except ZeError as error:
                    if place is not None:
                        self._payload.give_back(place)
                    then(error)
                    continue
            pending = Pending(request, place, question.room)
            self._pending[pending.request] = pending, then
            self._commands.put(address_command(question.command, pending.request, place))
            old, new = self._commands.publish()
            self._end.doorbells.ring(CONTROL_QUEUE, self._commands.header, old, new)

    def _next_request(self) -> int:
        request = self._last
        while not request or request in self._pending:
            request = (request + 1) & U32_MASK
        self._last = (request + 1) & U32_MASK
        return request

    def _take(self, reply: object) -> tuple[Callable[[Answer | ZeError], None], Answer]:
        if not isinstance(reply, Reply) or reply.request not in self._pending:
            raise ContractError(f"on the reply ring: {reply}, which nobody asked for")
        pending, then = self._pending.pop(reply.request)
        payload = b""
        if pending.place is not None:
            payload = self._payload.load(pending.place, pending.room)
            self._payload.give_back(pending.place)
        return then, answer_of(reply, payload, self._end.carrier)
