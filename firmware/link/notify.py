"""Who has to be told that a word of shared memory was stored.

The order on the side that stores (INV-RING-2):

    1. entries, then the index or value (and the doorbell word, towards the device)
    2. fence
    3. load the peer's event index, sleeping flag or count of sleepers
    4. ring or wake if they ask for it

and on the side that sleeps (`firmware.link.waiting`, `firmware.link.sleep`):

    1. store the event index, sleeping flag or count of sleepers
    2. fence
    3. load the index or value
    4. sleep if it has not moved

A store may become visible after a later load of the same processor has been made. Without the
fences both sides could then load the old value of the other's word, and one would sleep with work
waiting: `tests/link/test_interleavings.py` finds such a run when either fence is taken out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, final

from firmware.abi.ids import Feature
from firmware.abi.registers import DEVICE_ASLEEP
from firmware.abi.rings import TAIL_EVENT, needs_notify
from firmware.link.linux import fence, futex_wake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from firmware.abi.segment import Superblock
    from firmware.link.bells import Bell
    from firmware.link.compiled import MakeRinger, MakeTeller
    from firmware.link.segment import Segment
    from firmware.link.words import Words

_ASLEEP: Final = DEVICE_ASLEEP.offset


class Notice(Protocol):
    """A store that somebody may sleep on; all offsets are bytes in the segment."""

    @property
    def word(self) -> int:
        """The word that was stored, which sleepers use as futex."""
        ...

    @property
    def sleepers(self) -> int:
        """The u32 that counts the host's sleepers on `word`."""
        ...

    @property
    def event(self) -> int:
        """The peer's u32 event index; 0 when `word` has none."""
        ...

    @property
    def old(self) -> int:
        """Index before the store, where there is an event index."""
        ...

    @property
    def new(self) -> int:
        """Index after the store, where there is an event index."""
        ...

    @property
    def force(self) -> bool:
        """Whether the bell rings whatever the event index says."""
        ...


class Tell(Protocol):
    """Tells a client of stores."""

    def __call__(self, notices: Iterable[Notice], /) -> bool:
        """Tell the client of stores that were all made before this call.

        Returns:
            Whether the interrupt bell was rung.
        """
        ...


@final
class Notifier:
    """The device's way to tell one client: interrupt bell and futexes.

    Owner: the shell, one for each client. It holds no state that a reset would change.
    """

    __slots__ = ("_always", "_bell", "_fence", "_segment", "_u32", "_wake", "notify")

    def __init__(
        self,
        segment: Segment,
        bell: Bell,
        *,
        event_index: bool = True,
        teller: MakeTeller | None = None,
        wake: Callable[[int], int] = futex_wake,
        fence: Callable[[], None] = fence,
    ) -> None:
        """Tell the client of `segment`.

        Args:
            segment: the client's segment.
            bell: its interrupt.
            event_index: whether the client agreed on the feature; one that did not never stores
                an event index and is told of everything.
            teller: the compiled part that tells clients; None: Python does.
            wake: what tests replace where Python does, as they do `fence`.
            fence: see `wake`.
        """
        self._fence = fence
        self._always = not event_index
        self._segment = segment
        self._u32 = segment.words.u32
        self._bell = bell
        self._wake = wake
        self.notify: Tell = self._notify
        """Tells the client of stores."""
        if teller is not None:
            self.notify = teller(segment.words.u8, bell.ring, self._always).notify

    def _notify(self, notices: Iterable[Notice], /) -> bool:
        """Tell the client (see `Tell`)."""
        self._fence()
        u32 = self._u32
        ring = self._always
        for notice in notices:
            event = notice.event
            if notice.force or (event and needs_notify(u32[event >> 2], notice.new, notice.old)):
                ring = True
            if u32[notice.sleepers >> 2]:
                self._wake(self._segment.address + notice.word)
        if ring:
            self._bell.ring()
        return ring


class Ring(Protocol):
    """Tells a device that the tail of a ring moved."""

    def __call__(self, doorbell: int, ring_offset: int, old: int, new: int, /) -> bool:
        """Tell the device that the tail went from `old` to `new`, as `publish` says.

        Args:
            doorbell: index of the queue's doorbell word.
            ring_offset: where the ring's header stands.
            old: tail before.
            new: tail after.

        Returns:
            Whether the bell had to be rung: the device sleeps, or did not agree on event indices.
        """
        ...


@final
class Doorbells:
    """The driver's way to tell the device: doorbell words and, when it sleeps, the bell.

    Owner: a driver's session; several threads may ring at once, each for queues of its own.
    """

    __slots__ = ("_always", "_asleep", "_bell", "_fence", "_page", "_u32", "ring")

    def __init__(
        self,
        words: Words,
        superblock: Superblock,
        bell: Bell,
        *,
        ringer: MakeRinger | None = None,
        fence: Callable[[], None] = fence,
    ) -> None:
        """Tell the device that made `superblock`.

        Args:
            words: its segment.
            superblock: what it says of itself.
            bell: what wakes it.
            ringer: the compiled part that rings doorbells; None: Python does.
            fence: what tests replace where Python does.
        """
        self._fence = fence
        self._u32 = words.u32
        self._always = not superblock.features & Feature.EVENT_INDEX
        self._page = superblock.doorbells_offset >> 2
        self._asleep = (superblock.registers_offset + _ASLEEP) >> 2
        self._bell = bell
        self.ring: Ring = self._ring
        """Tells the device that the tail of a ring moved."""
        if ringer is not None:
            offsets = (self._page << 2, self._asleep << 2, TAIL_EVENT)
            self.ring = ringer(words.u8, bell.ring, offsets, self._always).ring

    def _ring(self, doorbell: int, ring_offset: int, old: int, new: int, /) -> bool:
        """Tell the device (see `Ring`)."""
        u32 = self._u32
        u32[self._page + doorbell] = new
        # After the tail and the doorbell word are stored, before the device's words are loaded.
        self._fence()
        event = u32[(ring_offset + TAIL_EVENT) >> 2]
        if not (u32[self._asleep] or needs_notify(event, new, old) or self._always):
            return False
        self._bell.ring()
        return True

    def nudge(self) -> None:
        """Ring the bell if the device sleeps, after a store that its work waits for.

        To be called after the fence that follows the store.
        """
        if self._u32[self._asleep] or self._always:
            self._bell.ring()

    def poke(self) -> None:
        """Ring the bell without a queue: after a store to a register, or to be looked after."""
        self._fence()
        self._bell.ring()
