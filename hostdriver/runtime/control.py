"""The control channel: many threads ask, one of them at a time reads the replies for all.

A thread that waits leads when nobody else does: it alone waits on the reply ring, outside the lock,
and hands out what it reads. The others sleep on a condition. A leader whose own reply is there
steps down and wakes them, and one of them leads on.
"""

from __future__ import annotations

import errno
import threading
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
    from collections.abc import Callable, Sequence

    from firmware.abi.control import ControlCommand
    from firmware.link.carrier import Carrier
    from firmware.link.ends import HostEnd

_WITH_DESCRIPTORS: Final = (ObjectCreated, Allocated, FencePoolOpened, FilesTold)
_REQUEST: Final = slice(4, 8)


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
class ControlChannel:
    """Control and reply ring of one session.

    Owner: a session; any thread may call. Invariants: at most one thread waits on the reply ring;
    at most `most_in_flight` requests are in flight, so that neither ring ever overflows; every
    reply goes to the request whose number it carries.
    """

    __slots__ = (
        "_changed",
        "_commands",
        "_end",
        "_last",
        "_leading",
        "_lock",
        "_lost",
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
        self._leading = False
        self._lost = ""
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    @property
    def payload_size(self) -> int:
        """Most bytes that a payload may have."""
        return self._payload.size

    def post(
        self,
        command: ControlCommand,
        payload: bytes = b"",
        room: int = 0,
        descriptors: Sequence[int] = (),
    ) -> Pending:
        """Send a command when there is room for it; its reply is fetched by `collect`.

        Args:
            command: the command; its request number and payload place are filled in.
            payload: bytes that the device reads.
            room: bytes that the device may write.
            descriptors: what goes with it over the socket.

        Raises:
            ZeError: the session has ended; a descriptor cannot be sent. Nothing was sent then.
            ValueError: the payload area is too small for it.
        """
        size = max(len(payload), room)
        with self._lock:
            place = self._await_room(size)
            request = self._next_request()
            if place is not None:
                self._payload.store(place, payload)
            if descriptors:
                try:
                    send_descriptors(self._end.carrier, request, descriptors)
                except ZeError:
                    if place is not None:
                        self._payload.give_back(place)
                    raise
            pending = Pending(request, place, room)
            self._pending[pending.request] = pending
            self._commands.put(address_command(command, pending.request, place))
            old, new = self._commands.publish()
            self._end.doorbells.ring(CONTROL_QUEUE, self._commands.header, old, new)
        return pending

    def collect(self, pending: Pending) -> Answer:
        """Wait for the reply of a request that was posted, and forget the request.

        When an interrupt ends the wait, it may be called again.

        Raises:
            ZeError: the session has ended.
        """
        with self._lock:
            self._until(lambda: pending.reply is not None)
        return answer_of(cast("Reply", pending.reply), pending.payload, self._end.carrier)

    def end(self, reason: str) -> None:
        """End every wait, now and later, with DEVICE_LOST for this reason."""
        with self._lock:
            self._lost = self._lost or reason
            self._changed.notify_all()

    def _await_room(self, size: int) -> int | None:
        """Wait until one more request may be made; return its place in the payload area, if any.

        The lock is held, and given up meanwhile.
        """
        place: int | None = None

        def room() -> bool:
            nonlocal place
            if len(self._pending) >= self.most_in_flight:
                return False
            place = self._payload.take(size) if size else None
            return not size or place is not None

        self._until(room)
        return place

    def _next_request(self) -> int:
        request = self._last
        while not request or request in self._pending:
            request = (request + 1) & U32_MASK
        self._last = (request + 1) & U32_MASK
        return request

    def _until(self, ready: Callable[[], bool]) -> None:
        """Wait until `ready`, leading when nobody else does; the lock is held at both ends.

        Raises:
            ZeError: the session has ended.
        """
        while not ready():
            if self._lost:
                raise device_lost(self._lost)
            if self._leading:
                self._changed.wait()
            else:
                self._lead()

    def _lead(self) -> None:
        """Wait for replies outside the lock, and hand out what came."""
        header = self._replies.header
        wait = WordWait(
            word=header + TAIL,
            target=(self._replies.head + 1) & U32_MASK,
            sleepers=header + CONSUMER_SLEEPERS,
            wide=False,
        )
        self._leading = True
        try:
            self._lock.release()
            try:
                self._end.waiter.wait(wait)
            finally:
                self._lock.acquire()
            self._hand_out()
        except LinkError as error:
            # Whoever waits sees it; nobody is left who could tell them otherwise.
            self._lost = self._lost or str(error)
        finally:
            self._leading = False
            self._changed.notify_all()

    def _hand_out(self) -> None:
        """Take every reply that is there, with its payload, and give it to its request.

        All that a request holds is given back here, so that whoever waits for room only waits for
        replies.
        """
        count = self._replies.available()
        for _ in range(count):
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
        self._replies.publish_head()


def answer_of(reply: Reply, payload: bytes, carrier: Carrier) -> Answer:
    """Return the answer that a reply is, with the descriptors that it tells of.

    Raises:
        ZeError: the session has ended.
    """
    expected = reply.descriptors if isinstance(reply, _WITH_DESCRIPTORS) else 0
    if not expected:
        return Answer(reply, payload)
    try:
        received = carrier.take(reply.request)
    except DescriptorsLost as error:
        return Answer(reply, payload, problem=str(error))
    except LinkLost as error:
        raise device_lost(str(error)) from error
    if received is None:
        return Answer(reply, payload, problem="the device did not send its descriptor")
    descriptors = tuple(received.descriptors.take() for _ in range(len(received.descriptors)))
    return Answer(reply, payload, descriptors)


def send_descriptors(carrier: Carrier, request: int, descriptors: Sequence[int]) -> None:
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
        if isinstance(error, OSError) and error.errno == errno.EBADF:
            raise invalid_argument(f"{list(descriptors)} is not open: {error}") from error
        raise out_of_host_memory(f"descriptors cannot be sent: {error}") from error


def address_command(command: ControlCommand, request: int, place: int | None) -> bytes:
    """Return the bytes of a command with its request number and the place of its payload."""
    entry = bytearray(command.pack())
    entry[_REQUEST] = request.to_bytes(4, "little")
    if place is not None:
        at = next(f.offset for f in type(command).FIELDS if f.name == "payload_offset")
        entry[at : at + 4] = place.to_bytes(4, "little")
    return bytes(entry)
