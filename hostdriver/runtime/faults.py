"""The fault ring of one session: read when a queue stopped, sorted by queue."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Final, final

from firmware.abi.faults import FaultRecord
from firmware.abi.registers import FAULT_STATUS, FaultStatus
from firmware.link.errors import ContractError
from firmware.link.layout import fault_shape
from firmware.link.rings import Consumer

if TYPE_CHECKING:
    from firmware.link.ends import HostEnd

MOST_KEPT: Final = 256
"""Records that are kept for queues which nobody asked about; older ones go."""


@final
class FaultReader:
    """Consumer of the fault ring.

    Owner: a session; any thread may ask. Invariant: each record is given out at most once.
    """

    __slots__ = ("_kept", "_lock", "_register", "_ring", "_words")

    def __init__(self, end: HostEnd) -> None:
        block = end.superblock
        self._words = end.segment.words
        self._register = block.registers_offset + FAULT_STATUS.offset
        self._ring = Consumer(
            self._words, block.fault_ring_offset, fault_shape(block.fault_ring_entries)
        )
        self._kept: deque[FaultRecord] = deque(maxlen=MOST_KEPT)
        self._lock = threading.Lock()

    def take(self, queue_id: int) -> tuple[FaultRecord, ...]:
        """Return the records of one queue that were not given out yet, oldest first.

        Raises:
            ContractError: the fault ring is malformed.
        """
        with self._lock:
            self._read_all()
            found = tuple(record for record in self._kept if record.queue_id == queue_id)
            others = [record for record in self._kept if record.queue_id != queue_id]
            self._kept.clear()
            self._kept.extend(others)
        return found

    def take_all(self) -> tuple[FaultRecord, ...]:
        """Return the records of all queues that were not given out yet, oldest first.

        Raises:
            ContractError: the fault ring is malformed.
        """
        with self._lock:
            self._read_all()
            found = tuple(self._kept)
            self._kept.clear()
        return found

    def _read_all(self) -> None:
        # Acknowledged before the ring is emptied: a record written in between is found in the ring.
        bits = FaultStatus.pending.mask | FaultStatus.overflow.mask
        self._words.store32(self._register, bits | FaultStatus.acknowledge.mask)
        for _ in range(self._ring.available()):
            record = FaultRecord.unpack(self._ring.fetch())
            if not isinstance(record, FaultRecord):
                raise ContractError(f"on the fault ring: {record}")
            self._kept.append(record)
        self._ring.publish_head()
