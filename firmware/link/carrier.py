"""Carriers: how memory files reach the other side, each with the number of its request.

Whoever sends descriptors does so before the command or reply that uses them appears in its ring, so
that they are there when they are asked for: `take` never waits.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol, final

from firmware.abi.handshake import MAX_DESCRIPTORS
from firmware.link.descriptors import (
    Descriptors,
    DescriptorsLost,
    Received,
    checked,
    receive_note,
    send_packet,
)
from firmware.link.errors import ContractError, LinkError, LinkLost

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from firmware.abi.handshake import DescriptorNote

MOST_STASHED: Final = 64
"""Most messages that one side keeps for requests which nobody has asked for yet."""


@final
class CarrierFull(LinkError):
    """The peer does not take what it was sent; nothing was sent this time."""


class Carrier(Protocol):
    """One end of the way that descriptors take."""

    def send(self, note: DescriptorNote, descriptors: Sequence[int]) -> None:
        """Send descriptors, which stay the caller's.

        Raises:
            LinkLost: the peer is gone.
            CarrierFull: the peer does not read.
            OSError: a bad descriptor, or a limit; nothing was sent.
        """
        ...

    def take(self, request: int) -> Received | None:
        """Return what arrived for a request and hand it over; None when nothing has.

        Raises:
            LinkLost: the peer is gone and nothing is left to take.
            DescriptorsLost: the request's descriptors could not be received; others can.
            ContractError: the peer sent something else, or too much that nobody asked for.
        """
        ...

    def renew(self) -> None:
        """Forget the threads that were inside: a child after fork has none of them."""
        ...

    def close(self) -> None:
        """Close what was not taken; a second call does nothing."""
        ...


@final
class Stash:
    """What arrived and was not asked for yet, by request number."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[int, Received] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, received: Received) -> None:
        """Keep one message.

        Raises:
            ContractError: there is one with this number, or there are too many; it was closed.
        """
        request = received.note.request
        if request in self._waiting or len(self._waiting) >= MOST_STASHED:
            received.descriptors.close()
            raise ContractError(
                f"descriptors for request {request}: sent twice, or more than {MOST_STASHED}"
                " messages that no request asked for"
            )
        self._waiting[request] = received

    def take(self, request: int) -> Received | None:
        """Hand over what is kept for a request.

        Raises:
            DescriptorsLost: its descriptors could not be received.
        """
        received = self._waiting.pop(request, None)
        if received is not None and received.lost:
            raise DescriptorsLost(received.lost)
        return received

    def close(self) -> None:
        """Close everything."""
        while self._waiting:
            self._waiting.popitem()[1].descriptors.close()


@final
class SocketCarrier:
    """Descriptors over a Unix socket.

    Owner: one end of a link, which also owns the socket. Threads may share it.
    """

    __slots__ = ("_connection", "_lock", "_most", "_patience", "_stash")

    def __init__(
        self,
        connection: socket.socket,
        patience_seconds: float = 0.0,
        *,
        most_descriptors: int = MAX_DESCRIPTORS,
    ) -> None:
        """Use a connected SOCK_SEQPACKET socket.

        Args:
            connection: the socket; nothing else reads it from now on.
            patience_seconds: how long `send` waits for a peer that does not read.
            most_descriptors: descriptors of one message that are kept; of a message with more,
                none is.
        """
        self._connection = connection
        self._patience = patience_seconds
        self._most = most_descriptors
        self._stash = Stash()
        self._lock = threading.Lock()

    def send(self, note: DescriptorNote, descriptors: Sequence[int]) -> None:
        """Send one message (see `Carrier`)."""
        data = note.pack()
        try:
            send_packet(self._connection, data, descriptors, socket.MSG_DONTWAIT)
        except BlockingIOError:
            self._await_room()
            try:
                send_packet(self._connection, data, descriptors, socket.MSG_DONTWAIT)
            except BlockingIOError as error:
                raise CarrierFull(f"request {note.request}: the peer does not read") from error

    def _await_room(self) -> None:
        poll = select.poll()
        poll.register(self._connection, select.POLLOUT)
        poll.poll(self._patience * 1000)

    def take(self, request: int) -> Received | None:
        """Receive all that has arrived; hand over the request's (see `Carrier`)."""
        with self._lock:
            received = self._stash.take(request)
            if received is not None:
                return received
            self._receive_all()
            return self._stash.take(request)

    def _receive_all(self) -> None:
        while True:
            try:
                received = receive_note(self._connection, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except LinkLost:
                # What was sent before may still be asked for.
                if len(self._stash):
                    return
                raise
            count = len(received.descriptors)
            if count > self._most:
                received.descriptors.close()
                text = f"{count} descriptors came with one request, expected at most {self._most}"
                received = Received(received.note, Descriptors(), text)
            self._stash.put(received)

    def renew(self) -> None:
        """Make a new lock (see `Carrier`)."""
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close what was not taken; the socket is its owner's."""
        with self._lock:
            self._stash.close()


@final
class _Way:
    """One direction of an in-process carrier."""

    __slots__ = ("closed", "messages")

    def __init__(self) -> None:
        self.messages: deque[Received] = deque()
        self.closed = False
        """Whether either end is closed: nothing more will be sent."""


@final
class ListCarrier:
    """Descriptors inside one process: the same rules without a socket.

    Owner: one end of an in-process link. A descriptor that is sent is duplicated, as the kernel
    does, so that sender and receiver each close their own.
    """

    __slots__ = ("_incoming", "_outgoing", "_stash")

    def __init__(self, incoming: _Way, outgoing: _Way) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._stash = Stash()

    @classmethod
    def pair(cls) -> tuple[Self, Self]:
        """Return both ends."""
        there, back = _Way(), _Way()
        return cls(there, back), cls(back, there)

    def send(self, note: DescriptorNote, descriptors: Sequence[int]) -> None:
        """Send one message (see `Carrier`)."""
        if self._outgoing.closed:
            raise LinkLost("the peer closed its end")
        if len(self._outgoing.messages) >= MOST_STASHED:
            raise CarrierFull(f"request {note.request}: the peer does not read")
        with contextlib.ExitStack() as undo:
            copies = Descriptors()
            undo.callback(copies.close)
            for number in descriptors:
                copies.add(os.dup(number))
            self._outgoing.messages.append(Received(note, copies, ""))
            undo.pop_all()

    def take(self, request: int) -> Received | None:
        """Hand over the request's message (see `Carrier`)."""
        received = self._stash.take(request)
        if received is not None:
            return received
        while self._incoming.messages:
            self._stash.put(checked(self._incoming.messages.popleft()))
        if self._incoming.closed and not len(self._stash):
            raise LinkLost("the peer closed its end")
        return self._stash.take(request)

    def renew(self) -> None:
        """Do nothing: there is no lock (see `Carrier`)."""

    def close(self) -> None:
        """Close what was not taken."""
        self._incoming.closed = self._outgoing.closed = True
        while self._incoming.messages:
            self._incoming.messages.popleft().descriptors.close()
        self._stash.close()
