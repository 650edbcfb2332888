"""Whether the other side still lives.

A process is gone when its pidfd says so, or when its end of the socket is closed, whichever is
first: a forked helper keeps the socket of a dead program open, and a program that calls exec lives
on without the link.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Protocol, final

from firmware.abi.registers import STATUS, DeviceStatus, Phase
from firmware.abi.rings import STATE as RING_STATE
from firmware.abi.rings import STATUS as RING_STATUS
from firmware.abi.rings import RingState
from firmware.link.errors import LinkLost
from firmware.link.linux import has_ended, has_hung_up, peer_credentials, peer_pidfd

if TYPE_CHECKING:
    import socket

    from firmware.abi.segment import Superblock
    from firmware.link.words import Words

_PHASE: Final = DeviceStatus.phase.mask
_CLIENT_LOST: Final = DeviceStatus.client_lost.mask


class Peer(Protocol):
    """The other end of a link."""

    @property
    def pid(self) -> int:
        """Its process; 0 when that stands in another PID namespace."""
        ...

    def lost(self) -> str:
        """Return why the link is lost; an empty text while it lives."""
        ...

    def check(self) -> None:
        """Do nothing while the peer lives.

        Raises:
            LinkLost: it does not.
        """
        ...

    def filenos(self) -> tuple[int, ...]:
        """Return descriptors that become readable when the peer is gone, for those who sleep."""
        ...

    def close(self) -> None:
        """Give up the watch, and with it the connection."""
        ...


@final
class ProcessPeer:
    """A process at the other end of a socket.

    Owner: one end of a link; owns the socket and a pidfd. `lost` stays true once it was.
    """

    __slots__ = ("_connection", "_lost", "_pid", "_pidfd")

    def __init__(self, connection: socket.socket) -> None:
        """Watch the process that connected, or that listens.

        Raises:
            OSError: no descriptors left, or not a connected Unix socket; the socket stays the
                caller's.
        """
        self._pid = peer_credentials(connection).pid
        self._pidfd = peer_pidfd(connection)
        self._connection = connection
        self._lost = ""

    @property
    def pid(self) -> int:
        """Its process."""
        return self._pid

    def lost(self) -> str:
        """Return why the link is lost (see `Peer`)."""
        if not self._lost:
            if self._pidfd is not None and has_ended(self._pidfd):
                self._lost = f"process {self._pid} has ended"
            elif has_hung_up(self._connection):
                self._lost = f"process {self._pid} closed the connection"
        return self._lost

    def check(self) -> None:
        """Raise LinkLost when the peer is gone."""
        reason = self.lost()
        if reason:
            raise LinkLost(reason)

    def filenos(self) -> tuple[int, ...]:
        """Return the pidfd, where there is one, and the socket."""
        socket_number = self._connection.fileno()
        return (socket_number,) if self._pidfd is None else (self._pidfd, socket_number)

    def give_back(self) -> None:
        """Give up the watch alone: the socket is the caller's again. A second call does nothing."""
        self._lost = self._lost or "this end is closed"
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    def close(self) -> None:
        """Close pidfd and socket; a second call does nothing."""
        self.give_back()
        self._connection.close()


@final
class LocalPeer:
    """The other end of an in-process link."""

    __slots__ = ("_closed", "_other", "_pid")

    def __init__(self, pid: int | None = None) -> None:
        self._closed = False
        self._pid = pid
        self._other: LocalPeer | None = None

    @classmethod
    def pair(cls, pid: int | None = None) -> tuple[LocalPeer, LocalPeer]:
        """Return both ends; `pid` is whose pages the client's are, when not this process's."""
        one, other = cls(pid), cls()
        one.join(other)
        other.join(one)
        return one, other

    def join(self, other: LocalPeer) -> None:
        """Set the other end."""
        self._other = other

    @property
    def pid(self) -> int:
        """The process whose pages are meant: this one, or that of a program elsewhere."""
        return os.getpid() if self._pid is None else self._pid

    @property
    def closed(self) -> bool:
        """Whether this end was closed."""
        return self._closed

    def lost(self) -> str:
        """Return why the link is lost (see `Peer`)."""
        if self._closed:
            return "this end is closed"
        if self._other is None or self._other.closed:
            return "the other end is closed"
        return ""

    def check(self) -> None:
        """Raise LinkLost when the other end is closed."""
        reason = self.lost()
        if reason:
            raise LinkLost(reason)

    def filenos(self) -> tuple[int, ...]:
        """Return nothing: nobody sleeps in here."""
        return ()

    def close(self) -> None:
        """Close this end."""
        self._closed = True


@final
class Liveness:
    """Whether waiting for the device still makes sense: its process, and what it says of itself.

    Owner: the driver's end of a link.
    """

    __slots__ = ("_peer", "_ring", "_status", "_words")

    def __init__(self, words: Words, superblock: Superblock, peer: Peer) -> None:
        self._words = words
        self._ring = superblock.control_ring_offset
        self._status = superblock.registers_offset + STATUS.offset
        self._peer = peer

    def check(self) -> None:
        """Do nothing while the device serves this client.

        Raises:
            LinkLost: its process is gone, it halted, it ended this client's session, or takes no
                command of it any more after one of its tails or heads could not be.
        """
        self._peer.check()
        status = self._words.load32(self._status)
        if status & _CLIENT_LOST or status & _PHASE == Phase.HALTED:
            raise LinkLost(f"the device ended the session: STATUS is {status:#010x}")
        if self._words.load32(self._ring + RING_STATE) == RingState.STOPPED:
            why = self._words.load32(self._ring + RING_STATUS)
            raise LinkLost(f"the device stopped the control ring at {self._ring:#x}: status {why}")
