"""Fault ring and register FAULT_STATUS of one client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.effects import Notify
from device.core.errors import InvariantError
from firmware.abi.faults import FaultRecord
from firmware.abi.registers import FAULT_STATUS, FaultStatus
from firmware.abi.rings import CONSUMER_SLEEPERS, TAIL, TAIL_EVENT
from firmware.link.errors import BadHead, RingFull
from firmware.link.rings import Producer, RingShape

if TYPE_CHECKING:
    from firmware.abi.segment import Superblock
    from firmware.link.words import Words

_ACKNOWLEDGE: Final = FaultStatus.acknowledge.mask
_PENDING: Final = FaultStatus.pending.mask
_OVERFLOW: Final = FaultStatus.overflow.mask
_DROPPED: Final = FaultStatus.dropped
_MOST_DROPPED: Final = (1 << _DROPPED.width) - 1


@final
class FaultReporter:
    """Writes the fault records of one client.

    Owner: the client's `EngineClient`. Invariant: FAULT_STATUS is what this object published,
    save for an acknowledgement of the host that was not taken yet. It lives as long as its client;
    a queue reset changes nothing here.
    """

    __slots__ = ("_client_id", "_ring", "_status", "_status_at", "_words", "dropped", "written")

    def __init__(self, client_id: int, words: Words, layout: Superblock) -> None:
        self._client_id = client_id
        self._words = words
        shape = RingShape(layout.fault_ring_entries, FaultRecord.SIZE)
        self._ring = Producer(words, layout.fault_ring_offset, shape)
        self._status_at = (layout.registers_offset + FAULT_STATUS.offset) >> 2
        self._status = 0
        self.written = 0
        """Records that stand, or stood, in the fault ring."""
        self.dropped = 0
        """Records that found the fault ring full."""

    def report(self, record: FaultRecord) -> Notify:
        """Write a record and tell who is to be woken; the interrupt is always raised.

        A full ring, or a head that the host cannot have reached, drops the record and counts it.
        """
        self.take_acknowledgement()
        ring = self._ring
        old = new = ring.tail
        try:
            ring.put(record.pack())
        except (RingFull, BadHead):
            self._count_dropped()
        else:
            self.written += 1
            self._status |= _PENDING
            # Record, then tail, then register: who sees a later store sees the earlier ones.
            old, new = ring.publish()
        self._words.u32[self._status_at] = self._status
        return Notify(
            self._client_id,
            ring.header + TAIL,
            ring.header + CONSUMER_SLEEPERS,
            ring.header + TAIL_EVENT,
            old,
            new,
            force=True,
        )

    def take_acknowledgement(self) -> None:
        """Clear the bits of FAULT_STATUS that the host cleared by storing ones.

        The host stores them together with `acknowledge`: without it a store of the value that
        stands there already could not be told from no store. It clears before it empties the ring,
        so a record written in between is found in the ring.
        """
        stored = self._words.u32[self._status_at]
        if not stored & _ACKNOWLEDGE:
            return
        if stored & _PENDING:
            self._status &= ~_PENDING
        if stored & _OVERFLOW:
            self._status &= ~(_OVERFLOW | _DROPPED.mask)
        self._words.u32[self._status_at] = self._status

    def check(self) -> None:
        """Raise InvariantError when the private status cannot have come about."""
        dropped = (self._status & _DROPPED.mask) >> _DROPPED.low
        if bool(dropped) != bool(self._status & _OVERFLOW) or dropped > self.dropped:
            raise InvariantError(
                f"client {self._client_id}: FAULT_STATUS {self._status:#x} with"
                f" {self.dropped} records dropped"
            )

    def _count_dropped(self) -> None:
        self.dropped += 1
        count = ((self._status & _DROPPED.mask) >> _DROPPED.low) + 1
        kept = self._status & ~_DROPPED.mask
        self._status = kept | _OVERFLOW | _DROPPED.of(min(count, _MOST_DROPPED))
