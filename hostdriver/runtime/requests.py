"""Requests to the firmware of one device: sent over the control ring, answered over the reply ring.

Nothing here waits: what has no room is not sent, what is not there yet is not taken. Whoever owns
the requests decides what to do meanwhile: threads wait (`control`), an emulator looks again later.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast, final

from firmware.abi.handshake import DescriptorNote
from firmware.abi.replies import (
    Allocated,
    FencePoolOpened,
    FilesTold,
    ObjectCreated,
    Reply,
    decode_reply,
)
from firmware.abi.rings import CONSUMER_SLEEPERS, CONTROL_QUEUE, TAIL, U32_MASK
from firmware.link.descriptors import DescriptorsLost
from firmware.link.errors import ContractError, LinkError, LinkLost
from firmware.link.layout import control_shape
from firmware.link.rings import Consumer, Producer
from firmware.link.waiting import WordWait
from hostdriver.core.failures import device_lost, invalid_argument, out_of_host_memory
from hostdriver.core.questions import Answer
from hostdriver.core.results import ZeError
from hostdriver.runtime.payload import PayloadArea

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.abi.control import ControlCommand
    from firmware.link.carrier import Carrier
    from firmware.link.ends import HostEnd

_WITH_DESCRIPTORS: Final = (ObjectCreated, Allocated, FencePoolOpened, FilesTold)


@final
@dataclass(slots=True, eq=False)
class Pending:
    """A request that was sent and whose reply is awaited."""

    request: int
    place: int | None
    """Its part of the payload area."""
    room: int
    """Bytes of the payload that come back."""
    payload: bytes = b""
    reply: Reply | None = None


@final
class Requests:
    """The requests of one link.

    Owner: a control channel, under its lock, or the desk of a program. Invariants: at most
    `most_in_flight` requests are in flight, so that neither ring ever overflows; every reply goes
    to the request whose number it carries.
    """

    __slots__ = (
        "_commands",
        "_end",
        "_last",
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
        # A reply may be seen before the head that freed its command's entry: with half a ring in
        # flight there is room for as much again.
        self.most_in_flight = max(1, min(block.control_ring_entries, block.reply_ring_entries) // 2)
        self._payload = PayloadArea(words, block.payload_offset, block.payload_size)
        self._pending: dict[int, Pending] = {}
        self._last = 0

    @property
    def are_in_flight(self) -> bool:
        """Whether replies are awaited."""
        return bool(self._pending)

    @property
    def payload_size(self) -> int:
        """Most bytes that a payload may have."""
        return self._payload.size

    @property
    def next_reply(self) -> WordWait:
        """The wait that ends when one more reply is there."""
        header = self._replies.header
        return WordWait(
            word=header + TAIL,
            target=(self._replies.head + 1) & U32_MASK,
            sleepers=header + CONSUMER_SLEEPERS,
            wide=False,
        )

    def post(
        self, command: ControlCommand, payload: bytes, room: int, descriptors: Sequence[int]
    ) -> Pending | None:
        """Send a command; None while there is no room for it.

        Args:
            command: the command; its request number and payload place are filled in.
            payload: bytes that the device reads.
            room: bytes that the device may write.
            descriptors: what goes with it over the socket.

        Raises:
            ZeError: a descriptor cannot be sent. Nothing was sent then.
            ValueError: the payload area is too small for it.
        """
        if len(self._pending) >= self.most_in_flight:
            return None
        place: int | None = None
        if size := max(len(payload), room):
            place = self._payload.take(size)
            if place is None:
                return None
            self._payload.store(place, payload)
        request = self._next_request()
        if descriptors:
            try:
                _send_descriptors(self._end.carrier, request, descriptors)
            except ZeError:
                if place is not None:
                    self._payload.give_back(place)
                raise
        pending = self._pending[request] = Pending(request, place, room)
        self._commands.put(_address(command, request, place))
        old, new = self._commands.publish()
        self._end.doorbells.ring(CONTROL_QUEUE, self._commands.header, old, new)
        return pending

    def take(self) -> list[Pending]:
        """Take every reply that is there, with its payload; return the requests that have theirs.

        All that a request holds is given back here, so that whoever waits for room only waits for
        replies.

        Raises:
            ContractError: the reply ring is malformed.
        """
        taken: list[Pending] = []
        for _ in range(self._replies.available()):
            reply = decode_reply(self._replies.fetch())
            if not isinstance(reply, Reply):
                raise ContractError(f"on the reply ring: {reply}")
            pending = self._pending.pop(reply.request, None)
            if pending is None:
                raise ContractError(f"a reply to request {reply.request}, which nobody made")
            if pending.place is not None:
                pending.payload = self._payload.load(pending.place, pending.room)
                self._payload.give_back(pending.place)
            pending.reply = reply
            taken.append(pending)
        self._replies.publish_head()
        return taken

    def answer_to(self, pending: Pending) -> Answer:
        """Return the answer to a request that has its reply, with the descriptors it tells of.

        Raises:
            ZeError: the session has ended.
        """
        reply = cast("Reply", pending.reply)
        payload = pending.payload
        expected = reply.descriptors if isinstance(reply, _WITH_DESCRIPTORS) else 0
        if not expected:
            return Answer(reply, payload)
        try:
            received = self._end.carrier.take(reply.request)
        except DescriptorsLost as error:
            return Answer(reply, payload, problem=str(error))
        except LinkLost as error:
            raise device_lost(str(error)) from error
        if received is None:
            return Answer(reply, payload, problem="the device did not send its descriptor")
        descriptors = tuple(received.descriptors.take() for _ in range(len(received.descriptors)))
        return Answer(reply, payload, descriptors)

    def _next_request(self) -> int:
        request = self._last
        while not request or request in self._pending:
            request = (request + 1) & U32_MASK
        self._last = (request + 1) & U32_MASK
        return request


def _send_descriptors(carrier: Carrier, request: int, descriptors: Sequence[int]) -> None:
    """Send descriptors under a request's number, before the request itself.

    Raises:
        ZeError: they cannot be sent.
    """
    note = DescriptorNote(request=request, count=len(descriptors), object_id=0, size_bytes=0)
    try:
        carrier.send(note, descriptors)
    except LinkLost as error:
        raise device_lost(str(error)) from error
    except (LinkError, OSError) as error:
        raise not_sent(descriptors, error) from error


def not_sent(descriptors: Sequence[int], error: Exception) -> ZeError:
    """Return the error of a call whose descriptors cannot be sent."""
    if isinstance(error, OSError) and error.errno == errno.EBADF:
        return invalid_argument(f"{list(descriptors)} is not open: {error}")
    return out_of_host_memory(f"descriptors cannot be sent: {error}")


def _address(command: ControlCommand, request: int, place: int | None) -> bytes:
    """Return the bytes of a command with its request number and the place of its payload."""
    entry = command.pack()
    entry = entry[:4] + request.to_bytes(4, "little") + entry[8:]
    if place is not None:
        at = next(f.offset for f in type(command).FIELDS if f.name == "payload_offset")
        entry = entry[:at] + place.to_bytes(4, "little") + entry[at + 4 :]
    return entry
