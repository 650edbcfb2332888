"""The sockets over which an emulator is told rules: no peer holds up the pump, whatever it does.

All peers are in one epoll of their own, which the pump watches. Each turn here reads and answers a
bounded number of lines; who does not read its answer is not listened to until it does.
"""

from __future__ import annotations

import logging
import select
import socket as sockets
from typing import TYPE_CHECKING, Final, final

from firmware.abi.handshake import HandshakeStatus
from firmware.link.bells import EventfdBell
from firmware.link.descriptors import send_packet
from firmware.link.errors import LinkError
from firmware.link.errors import Refused as Unwelcome
from firmware.link.lines import Lines
from firmware.link.peer import ProcessPeer
from hostdriver.inject.halting import Halting
from hostdriver.inject.messages import Follow, Halt, Hits, Refused, Report, encode

if TYPE_CHECKING:
    from firmware.link.handshake import Agreement
    from firmware.link.programs import LocalDevices
    from hostdriver.inject.desk import Desk
    from hostdriver.inject.messages import Request

MOST_TALKERS: Final = 256
"""Connections at a time."""
LINES_AT_A_TIME: Final = 8
MOST_LINES: Final = 1_000
"""Lines that are taken from one who has left, or reports, before another is answered."""
_LISTENING: Final = select.EPOLLIN | select.EPOLLRDHUP
_ANSWERING: Final = select.EPOLLOUT | select.EPOLLRDHUP
_WAITING: Final = select.EPOLLRDHUP
_GONE: Final = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
_LOG: Final = logging.getLogger(__name__)


@final
class Talker:
    """One connection.

    Owner: the control. Invariant: `mask` is what epoll waits for at its socket.
    """

    __slots__ = ("follows", "lines", "mask", "peer", "socket", "waits_for")

    def __init__(self, socket: sockets.socket, peer: ProcessPeer) -> None:
        self.socket = socket
        self.peer = peer
        self.lines = Lines(socket, waits=False)
        self.mask = _LISTENING
        self.waits_for: Hits | Follow | Halt | None = None
        """What is answered later: when there is a hit, the rules have changed, or it goes on."""
        self.follows = False
        """Whether it is a driver that reports."""


@final
class Control:
    """Serves all who bring rules (see `firmware.link.programs.FaultHost`).

    Owner: the emulator. Invariant: descriptors of a talker are watched exactly while it is here;
    rules that it holds go with it.
    """

    __slots__ = ("_bell", "_devices", "_epoll", "_halting", "_talkers", "desk")

    def __init__(self, devices: LocalDevices, desk: Desk) -> None:
        """Serve a desk; `devices` watch a descriptor in the pump.

        Raises:
            OSError: no descriptors left.
        """
        self.desk = desk
        self._devices = devices
        self._talkers: dict[int, Talker] = {}
        self._epoll = select.epoll()
        self._bell = EventfdBell()
        self._halting = Halting(devices, desk.injector, self._bell.ring)
        self._epoll.register(self._bell.fileno(), select.EPOLLIN)
        devices.watch(self._epoll.fileno(), self.dispatch)
        desk.on_hit = self._hear_of_hit

    def __len__(self) -> int:
        return len({id(talker) for talker in self._talkers.values()})

    def accept(self, connection: sockets.socket, agreement: Agreement) -> None:
        """Serve who is at the other end of a socket (see `FaultHost`).

        Raises:
            LinkError, OSError: it cannot be served; the socket is the caller's.
        """
        if len(self) >= MOST_TALKERS:
            raise Unwelcome(HandshakeStatus.FULL, MOST_TALKERS, "too many talk about rules")
        peer = ProcessPeer(connection)
        numbers: list[int] = []
        try:
            for number in peer.filenos():
                listens = _LISTENING if number == connection.fileno() else select.EPOLLIN
                self._epoll.register(number, listens)
                numbers.append(number)
            send_packet(connection, agreement.welcome(0, 0).pack(), (), sockets.MSG_DONTWAIT)
        except BaseException:
            for number in numbers:
                self._epoll.unregister(number)
            peer.give_back()
            raise
        talker = Talker(connection, peer)
        self._talkers.update(dict.fromkeys(numbers, talker))

    def dispatch(self) -> None:
        """Serve whoever is ready."""
        ready = self._epoll.poll(0)
        for number, events in ready:
            # Those who left first: whoever asks after that sees no rules of theirs.
            talker = self._talkers.get(number)
            if talker is not None and (number != talker.socket.fileno() or events & _GONE):
                self._end(talker)
        for number, _ in ready:
            talker = self._talkers.get(number)
            if talker is not None:
                self._guard(talker)
            elif number == self._bell.fileno():
                self._bell.clear()
        for talker in tuple(self._talkers.values()):
            if talker.lines.has_line or talker.waits_for is not None:
                self._guard(talker)

    def close(self) -> None:
        """End all connections, and remove all rules; a second call does nothing."""
        if self._epoll.closed:
            return
        self._halting.close()
        for talker in tuple(self._talkers.values()):
            self._end(talker)
        self.desk.close()
        self._devices.unwatch(self._epoll.fileno())
        self._epoll.close()
        self._bell.close()

    def _guard(self, talker: Talker) -> None:
        """Serve one talker; whatever it does ends here."""
        try:
            self._serve(talker)
        except (LinkError, OSError) as problem:
            _LOG.info("rules: process %d is not served any more: %s", talker.peer.pid, problem)
            self._end(talker)
        except Exception:  # noqa: BLE001 - a bug costs one talker its connection, no more
            _LOG.exception("rules: process %d could not be served", talker.peer.pid)
            self._end(talker)

    def _serve(self, talker: Talker) -> None:
        """Answer what a talker asks, as long as it takes the answers."""
        is_free = talker.lines.flush()
        for _ in range(LINES_AT_A_TIME):
            request: Request | None = talker.waits_for if is_free else None
            if is_free and request is None:
                line = talker.lines.pull()
                if line is None:
                    break
                decoded = self.desk.decode(line)
                if isinstance(decoded, Refused):
                    is_free = talker.lines.push(encode(decoded))
                    continue
                request = decoded
            if request is None or not self._is_due(talker, request):
                break
            is_free = self._answer(talker, request)
        if is_free and talker.waits_for is None and talker.lines.has_line:
            # More lines are here than are answered at a time, of which epoll does not know.
            self._bell.ring()
        self._watch(talker, is_free=is_free)

    def _is_due(self, talker: Talker, request: Request) -> bool:
        """Return whether a request is answered now; else it waits for what `Talker` says."""
        talker.waits_for = None
        if isinstance(request, Halt) and not self._halting.is_over(
            talker, request, talker.peer.pid
        ):
            talker.waits_for = request
            return False
        if isinstance(request, Follow) and request.after >= self.desk.generation:
            talker.waits_for = request
            return False
        if isinstance(request, Hits) and request.wait:
            found = self.desk.hits(request)
            if not found.hits and found.last >= found.total:
                talker.waits_for = request
                return False
        return True

    def _answer(self, talker: Talker, request: Request) -> bool:
        """Answer one request; return whether the talker took the answer."""
        talker.follows = talker.follows or isinstance(request, Follow)
        if not isinstance(request, Report):
            # What drivers told before this was asked is part of the answer.
            self._hear_followers(talker)
        answer = self.desk.answer(request, talker, talker.peer.pid)
        return answer is None or talker.lines.push(encode(answer))

    def _hear_followers(self, asking: Talker) -> None:
        for talker in tuple(self._talkers.values()):
            if talker.follows and talker is not asking:
                self._hear_out(talker, answers=True)

    def _hear_out(self, talker: Talker, *, answers: bool) -> None:
        """Carry out what a talker has said so far, and answer it, or not as it has left."""
        try:
            for _ in range(MOST_LINES):
                if answers and talker.lines.waiting_bytes:
                    return
                line = talker.lines.pull()
                if line is None:
                    return
                request = self.desk.decode(line)
                if isinstance(request, Refused):
                    continue
                if isinstance(request, Halt):
                    # It is stopped when it is served next.
                    talker.waits_for = request
                    self._bell.ring()
                    return
                answer = self.desk.answer(request, talker, talker.peer.pid)
                if answers and answer is not None:
                    talker.lines.push(encode(answer))
        except (LinkError, OSError) as problem:
            # Whether it has left, the poll sees.
            _LOG.info("rules: process %d said last: %s", talker.peer.pid, problem)

    def _watch(self, talker: Talker, *, is_free: bool) -> None:
        mask = _LISTENING if is_free else _ANSWERING
        if is_free and talker.waits_for is not None:
            mask = _WAITING
        if mask != talker.mask:
            self._epoll.modify(talker.socket.fileno(), mask)
            talker.mask = mask

    def _hear_of_hit(self) -> None:
        if any(talker.waits_for is not None for talker in self._talkers.values()):
            self._bell.ring()

    def _end(self, talker: Talker) -> None:
        """Take what a talker still said, remove what it holds, close; twice is once."""
        numbers = [number for number, other in self._talkers.items() if other is talker]
        if not numbers:
            return
        for number in numbers:
            del self._talkers[number]
            self._epoll.unregister(number)
        self._hear_out(talker, answers=False)
        self._halting.forget(talker)
        talker.peer.close()
        self.desk.leave(talker)
