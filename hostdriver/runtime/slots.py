"""The fence pools that a session has mapped: their slots are loaded, stored and waited for here.

The order on the side that signals is that of `firmware.link.notify`: value, fence, then a look at
who sleeps. Two may: threads of any process, counted in the slot, who get a futex wake-up; and
queues of any device, counted there too, whose emulator gets the bell when it is asleep. An emulator
that is awake looks at every slot that its queues wait for before it sleeps (`may_sleep`): whoever
stores before that look is seen by it, and whoever stores later finds the device asleep and rings.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, final

from firmware.abi.segment import (
    FENCE_ARMED,
    FENCE_DEVICE_WAITS,
    FENCE_END_TICKS,
    FENCE_HOST_SLEEPERS,
    FENCE_START_TICKS,
    FENCE_STATUS,
    FENCE_VALUE,
    FenceSlot,
)
from firmware.link.errors import AttachError, LinkLost
from firmware.link.linux import fence, futex_wake
from firmware.link.waiting import WordWait
from hostdriver.core.questions import Waited
from hostdriver.core.slotmemory import SlotState
from hostdriver.runtime.directslots import direct_slot
from hostdriver.runtime.glances import Glances
from hostdriver.runtime.system import current

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.link.ends import HostEnd
    from firmware.link.notify import Doorbells
    from firmware.link.segment import Segment
    from firmware.link.waiting import Waiter
    from hostdriver.core.slotmemory import DirectSlot

_SIZE = FenceSlot.SIZE


@final
class JoinedSlots:
    """The slots of one pool (see `hostdriver.core.slotmemory.SlotMemory`).

    Owner: `JoinedPools`. Any thread may use it until it is closed.
    """

    __slots__ = (
        "_check",
        "_direct",
        "_doorbells",
        "_fence",
        "_glance",
        "_lost",
        "_segment",
        "_u32",
        "_u64",
        "_waiter",
        "_wake",
    )

    def __init__(
        self,
        segment: Segment,
        waiter: Waiter,
        doorbells: Doorbells,
        *,
        check: Callable[[], None] = lambda: None,
        wake: Callable[[int], int] = futex_wake,
        fence: Callable[[], None] = fence,
    ) -> None:
        """Use the slots in `segment`.

        Args:
            segment: the slots.
            waiter: how they are waited for.
            doorbells: how the device is told.
            check: raises LinkLost when the device is gone.
            wake: what tests replace.
            fence: what tests replace.
        """
        self._check = check
        self._glance = Glances(check)
        self._lost: LinkLost | None = None
        self._direct: dict[int, DirectSlot] = {}
        self._segment = segment
        self._u32 = segment.words.u32
        self._u64 = segment.words.u64
        self._waiter = waiter
        self._doorbells = doorbells
        self._wake = wake
        self._fence = fence

    def load(self, slot: int) -> SlotState:
        """Return what stands in a slot."""
        at = slot * _SIZE
        u32, u64 = self._u32, self._u64
        # The value before the times: who finds it reached finds the times that belong to it.
        value = u64[(at + FENCE_VALUE) >> 3]
        return SlotState(
            value=value,
            status=u32[(at + FENCE_STATUS) >> 2],
            device_waits=u32[(at + FENCE_DEVICE_WAITS) >> 2],
            armed=u64[(at + FENCE_ARMED) >> 3],
            start_ticks=u64[(at + FENCE_START_TICKS) >> 3],
            end_ticks=u64[(at + FENCE_END_TICKS) >> 3],
        )

    def signal(self, slot: int, value: int) -> None:
        """Store a value and tell who waits for it."""
        self._u64[(slot * _SIZE + FENCE_VALUE) >> 3] = value
        self._tell(slot)

    def fail(self, slot: int, status: int) -> None:
        """Store why a fence ended early and tell who waits for it."""
        self._u32[(slot * _SIZE + FENCE_STATUS) >> 2] = status
        self._tell(slot)

    def clear(self, slot: int) -> None:
        """Store zeros as value and status."""
        self._u64[(slot * _SIZE + FENCE_VALUE) >> 3] = 0
        self._u32[(slot * _SIZE + FENCE_STATUS) >> 2] = 0

    def arm(self, slot: int, value: int) -> None:
        """Store the value that the last signal asked for will store, and no status."""
        self._u32[(slot * _SIZE + FENCE_STATUS) >> 2] = 0
        self._u64[(slot * _SIZE + FENCE_ARMED) >> 3] = value

    def wait(self, slot: int, value: int, timeout_seconds: float | None) -> Waited:
        """Wait until a slot reaches `value`, gets a status, or time is up.

        Raises:
            LinkLost: the device is gone.
        """
        if self._lost is not None:
            raise self._lost
        at = slot * _SIZE
        with contextlib.suppress(TimeoutError):
            self._waiter.wait(_wait_for(slot, value), timeout_seconds)
        # Loaded before the value: a fence that is lost never gets its value later.
        status = self._u32[(at + FENCE_STATUS) >> 2]
        return Waited(self._u64[(at + FENCE_VALUE) >> 3], status)

    def spin(self, slot: int, value: int) -> bool:
        """Look at a slot for a moment (see `SlotMemory`)."""
        return self._waiter.spin(_wait_for(slot, value))

    def direct(self, slot: int) -> DirectSlot:
        """Return a slot for what sets and sees it without a question (see `SlotMemory`)."""
        before = self._direct.pop(slot, None)
        if before is not None:
            before.close()
        made = direct_slot(self, self._segment, slot, self._waiter, self._doorbells.nudge)
        self._direct[slot] = made
        return made

    def is_served(self) -> bool:
        """Return whether the device is there, looked at now and then (see `SlotMemory`)."""
        return self._lost is None and self._is_alive(self._glance)

    def is_alive(self) -> bool:
        """Return whether the device is there; once it was not, every wait raises LinkLost."""
        return self._is_alive(self._check)

    def _is_alive(self, check: Callable[[], None]) -> bool:
        try:
            check()
        except LinkLost as error:
            self._lost = error
            return False
        return True

    def close(self) -> None:
        """Unmap the slots."""
        for direct in self._direct.values():
            direct.close()
        self._direct.clear()
        self._segment.close()

    def _tell(self, slot: int) -> None:
        at = slot * _SIZE
        # 1. The value is stored. 2. It is visible before what follows is loaded.
        self._fence()
        # 3. Whoever counted himself and did not see the value is found here ...
        if self._u32[(at + FENCE_HOST_SLEEPERS) >> 2]:
            self._wake(self._segment.address + at + FENCE_VALUE)
        # 4. ... as is the queue of a device that said so before it looked at the value.
        if self._u32[(at + FENCE_DEVICE_WAITS) >> 2]:
            self._doorbells.nudge()


def _wait_for(slot: int, value: int) -> WordWait:
    at = slot * _SIZE
    return WordWait(
        word=at + FENCE_VALUE,
        target=value,
        sleepers=at + FENCE_HOST_SLEEPERS,
        status=at + FENCE_STATUS,
    )


@final
class JoinedPools:
    """The pools of one session.

    Owner: the session, which closes them with it.
    """

    __slots__ = ("_end", "_lock", "_pools")

    def __init__(self, end: HostEnd) -> None:
        self._end = end
        self._lock = threading.Lock()
        self._pools: set[JoinedSlots] = set()

    def join(self, descriptor: int, size: int) -> JoinedSlots | str:
        """Map a pool's file, which stays the caller's; return its slots, or why not."""
        try:
            segment = current.system.adopt(descriptor, size)
        except AttachError as error:
            return str(error)
        end = self._end
        slots = JoinedSlots(segment, end.waiter_of(segment), end.doorbells, check=end.vigil)
        with self._lock:
            self._pools.add(slots)
        return slots

    def leave(self, slots: JoinedSlots) -> None:
        """Unmap a pool."""
        with self._lock:
            self._pools.discard(slots)
        slots.close()

    def close(self) -> None:
        """Unmap every pool."""
        while self._pools:
            self._pools.pop().close()
