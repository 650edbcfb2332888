"""Descriptors on a Unix socket: none is lost unnoticed, none is leaked.

The kernel delivers as many descriptors of a message as fit and only sets a flag (MSG_CTRUNC) for
the rest. So every receive has room for the most that a message may carry, looks at the flag, and
compares the number with the one that the message names.
"""

from __future__ import annotations

import array
import os
import socket
from typing import TYPE_CHECKING, Final, NamedTuple, final

from firmware.abi.handshake import MAX_DESCRIPTORS, DescriptorNote
from firmware.link.errors import ContractError, LinkError, LinkLost

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

_ROOM: Final = socket.CMSG_SPACE(MAX_DESCRIPTORS * array.array("i").itemsize)
_HUNG_UP: Final = (BrokenPipeError, ConnectionResetError)


@final
class DescriptorsLost(LinkError):
    """Descriptors of a message did not all arrive; those that did were closed."""


@final
class Descriptors:
    """Descriptors that arrived and belong to nobody yet.

    Owner: whoever received them. Invariant: each is closed exactly once: by `close`, or by whoever
    called `take` for it.
    """

    __slots__ = ("_numbers",)

    def __init__(self, numbers: Sequence[int] = ()) -> None:
        self._numbers = list(numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def add(self, number: int) -> None:
        """Put one more in, which belongs here from now on."""
        self._numbers.append(number)

    def peek(self) -> int:
        """Return the next descriptor, which stays here (IndexError: none is left)."""
        return self._numbers[0]

    def take(self) -> int:
        """Hand over the next descriptor (IndexError: none is left)."""
        return self._numbers.pop(0)

    def close(self) -> None:
        """Close all that were not taken."""
        numbers, self._numbers = self._numbers, []
        for number in numbers:
            os.close(number)


class Packet(NamedTuple):
    """One message as it arrived."""

    data: bytes
    descriptors: Descriptors
    lost: bool
    """Whether descriptors did not fit: this process is at its limit, or the peer sent too many."""


def send_packet(
    connection: socket.socket, data: bytes, descriptors: Sequence[int] = (), flags: int = 0
) -> None:
    """Send one message; the descriptors stay the caller's.

    Raises:
        LinkLost: the peer has hung up.
        BlockingIOError: the peer does not read, and `flags` or the socket say not to wait.
        OSError: a bad descriptor, or too many in flight.
    """
    ancillary = []
    if descriptors:
        numbers = array.array("i", descriptors).tobytes()
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)]
    try:
        connection.sendmsg([data], ancillary, flags | socket.MSG_NOSIGNAL)
    except _HUNG_UP as error:
        raise LinkLost(f"the peer hung up before a message was sent: {error}") from error


def receive_packet(connection: socket.socket, size: int, flags: int = 0) -> Packet:
    """Receive one message of at most `size` bytes.

    Raises:
        LinkLost: the peer has hung up.
        ContractError: the message is longer; its descriptors were closed.
        BlockingIOError: there is none, and `flags` or the socket say not to wait.
        TimeoutError: none came within the socket's time.
    """
    try:
        data, ancillary, found, _ = connection.recvmsg(size, _ROOM, flags | socket.MSG_CMSG_CLOEXEC)
    except _HUNG_UP as error:
        raise LinkLost(f"the peer hung up: {error}") from error
    descriptors = Descriptors(_numbers_in(ancillary))
    if found & socket.MSG_TRUNC:
        descriptors.close()
        raise ContractError(f"a message of more than {size} bytes")
    if not data and not descriptors:
        raise LinkLost("the peer hung up")
    return Packet(data, descriptors, bool(found & socket.MSG_CTRUNC))


def _numbers_in(ancillary: Sequence[tuple[int, int, bytes]]) -> list[int]:
    numbers = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    return list(numbers)


class Received(NamedTuple):
    """One note and what came with it."""

    note: DescriptorNote
    descriptors: Descriptors
    lost: str
    """Why the descriptors are not there; empty when they are."""


def receive_note(connection: socket.socket, flags: int = 0) -> Received:
    """Receive one note with its descriptors; where some were lost, with none.

    Raises:
        LinkLost: the peer has hung up.
        ContractError: no note, or with another number of descriptors; they were closed.
        BlockingIOError: there is none, and `flags` or the socket say not to wait.
    """
    packet = receive_packet(connection, DescriptorNote.SIZE, flags)
    note = DescriptorNote.unpack(packet.data)
    if not isinstance(note, DescriptorNote):
        packet.descriptors.close()
        raise ContractError(f"on the socket: {note}")
    if not packet.lost:
        return checked(Received(note, packet.descriptors, ""))
    text = (
        f"{len(packet.descriptors)} of {note.count} descriptors of request {note.request} arrived:"
        " this process is at its limit (RLIMIT_NOFILE), or more than"
        f" {MAX_DESCRIPTORS} were sent"
    )
    packet.descriptors.close()
    return Received(note, Descriptors(), text)


def checked(received: Received) -> Received:
    """Return a message whose descriptors are as many as its note tells.

    Raises:
        ContractError: they are not; they were closed.
    """
    count = len(received.descriptors)
    if count != received.note.count:
        received.descriptors.close()
        raise ContractError(
            f"{count} descriptors with request {received.note.request}, its note tells"
            f" {received.note.count}"
        )
    return received
