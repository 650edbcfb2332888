"""The in-process twin: device and driver in one thread, on the same bytes and with the same code.

Ringing the doorbell calls the device at once; a driver that waits steps the device. Nobody sleeps,
spins or changes threads: with two threads of one interpreter a round trip takes 50 us and more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from firmware.link.bells import CallBell
from firmware.link.carrier import ListCarrier
from firmware.link.ends import DeviceEnd, HostEnd, check_segment
from firmware.link.handshake import read_welcome
from firmware.link.notify import Doorbells
from firmware.link.peer import Liveness, LocalPeer
from firmware.link.segment import Segment
from firmware.link.waiting import StepWaiter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from firmware.abi.handshake import Hello, Welcome

_DESCRIPTORS = 3
"""What a welcome carries between processes; in process the objects themselves are passed."""


@final
class LocalLink:
    """A link inside one thread, before the driver has been told.

    Owner: whoever composes device and driver. Invariant: both ends have the same memory and the
    same bells; `welcome` or `close` ends its life.
    """

    __slots__ = ("_doorbell", "_host_carrier", "_host_peer", "_interrupt", "end")

    def __init__(self, size: int, segment: Segment | None = None, pid: int | None = None) -> None:
        """Make a segment of `size` bytes unless one is given, bells and carriers.

        Raises:
            OSError: no memory or mappings left.
        """
        self._doorbell = CallBell()
        self._interrupt = CallBell()
        device_carrier, self._host_carrier = ListCarrier.pair()
        device_peer, self._host_peer = LocalPeer.pair(pid)
        self.end = DeviceEnd(
            segment=Segment.in_process(size) if segment is None else segment,
            doorbell=self._doorbell,
            interrupt=self._interrupt,
            carrier=device_carrier,
            peer=device_peer,
        )
        """The device's end; the device writes its segment before `welcome`."""

    @classmethod
    def shared(cls, size: int, pid: int) -> tuple[Self, int]:
        """Make a link whose segment process `pid` may map as well; return it and the descriptor.

        Raises:
            AttachError: this machine cannot share rings.
            OSError: no memory, descriptors or mappings left.
        """
        segment, descriptor = Segment.create(size)
        return cls(size, segment, pid), descriptor

    def listen(
        self,
        doorbell: Callable[[], None] | None = None,
        interrupt: Callable[[], None] | None = None,
    ) -> None:
        """Set who is called when the driver rings, and when the device does."""
        self._doorbell.listen(doorbell)
        self._interrupt.listen(interrupt)

    def welcome(self, welcome: Welcome, hello: Hello, step: Callable[[], bool]) -> HostEnd:
        """Return the driver's end.

        Args:
            welcome: the device's answer, judged as if it had come over a socket.
            hello: what the driver said.
            step: lets the device work; False when it could do nothing.

        Raises:
            Refused: the answer is a refusal.
            ContractError: answer or segment break the contract.
        """
        welcome = read_welcome(welcome.pack(), hello, _DESCRIPTORS)
        superblock = check_segment(self.end.segment, welcome)
        segment = self.end.segment.again()
        words = segment.words
        liveness = Liveness(words, superblock, self._host_peer)
        return HostEnd(
            welcome=welcome,
            superblock=superblock,
            segment=segment,
            doorbell=self._doorbell,
            interrupt=self._interrupt,
            carrier=self._host_carrier,
            peer=self._host_peer,
            liveness=liveness,
            vigil=liveness.check,
            waiter=StepWaiter(words, step),
            doorbells=Doorbells(words, superblock, self._doorbell),
            waiter_of=lambda shared: StepWaiter(shared.words, step),
        )

    def close(self) -> None:
        """Close both ends."""
        self._host_carrier.close()
        self._host_peer.close()
        self.end.close()
