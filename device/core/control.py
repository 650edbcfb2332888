"""The control ring of one client: takes commands, sends replies, keeps those that have to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from device.core.acknowledge import AT_ONCE
from device.core.effects import Notify
from device.core.errors import InvariantError
from device.core.firmware import Pending
from device.core.weights import weight_of
from firmware.abi.rings import (
    CONSUMER_SLEEPERS,
    HEAD,
    HEAD_EVENT,
    PRODUCER_SLEEPERS,
    STATE,
    STATUS,
    TAIL,
    TAIL_EVENT,
    RingState,
)
from firmware.abi.status import Status
from firmware.link.errors import BadHead, BadTail
from firmware.link.rings import Consumer, Producer
from firmware.link.ringshape import format_ring

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.acknowledge import Acknowledgement
    from device.core.inside import RingSink, RingSource
    from firmware.link.layout import SegmentPlan
    from firmware.link.words import Words


class _Waiting(NamedTuple):
    reply: bytes
    acknowledgement: Acknowledgement
    due: int


@final
class ControlRing:
    """Control and reply ring of one client, and the replies in between.

    Owner: the client. Invariants: every command taken has one reply, put or waiting, and a place in
    the reply ring is kept for each that waits; commands are taken in order, replies may overtake.
    A contract error of the client stops the control ring for good. It survives a device reset with
    all that waits, so that commands taken before get their replies.
    """

    __slots__ = (
        "_client_id",
        "_free_at",
        "_held",
        "_looked",
        "_stopped",
        "_ticks",
        "_waiting",
        "_words",
        "active",
        "commands",
        "consumer",
        "producer",
    )

    def __init__(self, client_id: int, words: Words, plan: SegmentPlan, ticks: int) -> None:
        """Format both rings.

        Args:
            client_id: whose they are.
            words: its segment.
            plan: where they stand.
            ticks: model time that a command takes.
        """
        format_ring(words.u8, plan.control_ring_offset, plan.control_ring)
        format_ring(words.u8, plan.reply_ring_offset, plan.reply_ring)
        self._client_id = client_id
        self._words = words
        self.consumer: RingSource = Consumer(words, plan.control_ring_offset, plan.control_ring)
        self.producer: RingSink = Producer(words, plan.reply_ring_offset, plan.reply_ring)
        """The ends of its rings; something may come in front of them (see `inside`)."""
        self._ticks = ticks
        self._waiting: list[_Waiting] = []
        self._free_at = 0
        self._held: bytes | None = None
        """A command that was taken and has to wait for its turn."""
        self._looked = False
        self._stopped = False
        self.active = False
        """Whether `serve` may have something to do, now or later."""
        self.commands = 0
        """Commands taken."""

    @property
    def wake_at(self) -> int | None:
        """Device time at which `serve` has something to do, if only time is missing."""
        due = [item.due for item in self._waiting if item.acknowledgement.passed]
        try:
            if self._looked and self._room():
                due.append(self._free_at)
        except BadHead:
            # `serve` will stop the ring.
            due.append(0)
        return min(due, default=None)

    @property
    def kept(self) -> int:
        """Places of the reply ring that are kept for replies which wait."""
        return len(self._waiting)

    def has_work(self, now: int) -> bool:
        """Whether `serve` would do something at `now`."""
        due = self.wake_at if self.active else None
        return due is not None and due <= now

    def look(self) -> None:
        """Look at the ring in the next `serve`: its doorbell word changed."""
        if not self._stopped:
            self._looked = self.active = True

    def serve(
        self,
        handle: Callable[[bytes], bytes | Pending],
        now: int,
        budget: int,
        *,
        may_exceed: bool = True,
    ) -> list[Notify]:
        """Answer commands and return whom to wake.

        Args:
            handle: carries out a command.
            now: device time.
            budget: weight of the commands that are answered (see `weights`).
            may_exceed: whether the first may weigh more than that; else it waits.
        """
        try:
            self._settle(now)
            if self._looked:
                self._take(handle, now, budget, may_exceed=may_exceed)
        except (BadTail, BadHead):
            return self._stop()
        self.active = self._looked or bool(self._waiting)
        return self._publish()

    def lose(self, status: Status) -> Notify:
        """Tell the client that its session ended; commands are answered all the same."""
        for ring in (self.consumer.header, self.producer.header):
            self._store_state(ring, RingState.LOST, status)
        return self._reply_notice(self.producer.tail, self.producer.tail, force=True)

    def arm(self) -> None:
        """Ask to be told of the next command, and of room for replies; look again after a fence."""
        self.consumer.arm()
        if self._looked:
            self.producer.arm(len(self._waiting) + 1)

    def check(self) -> None:
        """Raise InvariantError when more replies wait than have a place in the reply ring."""
        if len(self._waiting) > self.producer.shape.entry_count:
            raise InvariantError(f"client {self._client_id}: {len(self._waiting)} replies wait")

    def _take(
        self,
        handle: Callable[[bytes], bytes | Pending],
        now: int,
        budget: int,
        *,
        may_exceed: bool,
    ) -> None:
        control, replies = self.consumer, self.producer
        count = control.available() + (self._held is not None)
        while count and budget > 0 and now >= self._free_at and self._room():
            # Fetched once, weighed and carried out as the same bytes.
            command = self._held or control.fetch()
            weight = weight_of(command)
            if weight > budget and not may_exceed:
                self._held = command
                return
            self._held = None
            may_exceed = False
            count -= 1
            budget -= weight
            self.commands += 1
            reply = handle(command)
            if isinstance(reply, Pending):
                self._wait(reply.reply, reply.acknowledgement, now)
            elif self._ticks:
                self._wait(reply, AT_ONCE, now)
            else:
                replies.put(reply)
        if not count:
            # What came meanwhile comes with a doorbell of its own.
            self._looked = False

    def _wait(self, reply: bytes, acknowledgement: Acknowledgement, now: int) -> None:
        """Keep a reply until it is due and acknowledged; a place in the ring is kept for it."""
        self._free_at = now + self._ticks
        self._waiting.append(_Waiting(reply, acknowledgement, self._free_at))

    def _settle(self, now: int) -> None:
        """Put the replies that have waited long enough."""
        if not self._waiting:
            return
        still: list[_Waiting] = []
        for item in self._waiting:
            if item.acknowledgement.passed and item.due <= now:
                self.producer.put(item.reply)
            else:
                still.append(item)
        self._waiting = still

    def _room(self) -> bool:
        """Whether one more reply has a place."""
        return self.producer.free > len(self._waiting)

    def _publish(self) -> list[Notify]:
        # Replies first: who sees room for commands sees the answers to the last ones.
        notices: list[Notify] = []
        old, new = self.producer.publish()
        if old != new:
            notices.append(self._reply_notice(old, new))
        old, new = self.consumer.publish_head()
        if old != new:
            at = self.consumer.header
            notices.append(
                Notify(
                    self._client_id, at + HEAD, at + PRODUCER_SLEEPERS, at + HEAD_EVENT, old, new
                )
            )
        return notices

    def _stop(self) -> list[Notify]:
        """Stop for good after a tail or head that cannot be."""
        self._looked = self.active = False
        self._stopped = True
        self._waiting = []
        self._store_state(self.consumer.header, RingState.STOPPED, Status.BAD_TAIL)
        tail = self.producer.tail
        return [*self._publish(), self._reply_notice(tail, tail, force=True)]

    def _store_state(self, ring: int, state: RingState, status: Status) -> None:
        # Status first: who sees the new state reads the status that belongs to it.
        self._words.u32[(ring + STATUS) >> 2] = status
        self._words.u32[(ring + STATE) >> 2] = state

    def _reply_notice(self, old: int, new: int, *, force: bool = False) -> Notify:
        at = self.producer.header
        return Notify(
            self._client_id, at + TAIL, at + CONSUMER_SLEEPERS, at + TAIL_EVENT, old, new, force
        )
