"""Events: what signals them, what waits for them, and the commands of both.

An event stands in a fence slot. A plain one holds 0 or 1. A counting one holds a number: asking for
a signal (at the append) raises the number that is expected, a wait takes down the number that is
expected when *it* is asked for, and nobody ever has to reset anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, final

from firmware.abi.work import (
    FenceTimes,
    FenceWait,
    FenceWrite,
    MemoryAdd,
    MemoryWait,
    WorkFlags,
)
from hostdriver.core.failures import invalid_argument, invalid_synchronization_object
from hostdriver.core.slotmemory import NO_SLOT

if TYPE_CHECKING:
    from hostdriver.core.slotmemory import DirectSlot
    from hostdriver.core.slots import Slot
    from hostdriver.core.state import DriverState

COUNTER_MAX: Final = (1 << 63) - 1
"""Largest number that a counting event may be expected to reach."""
COPY_PARTS: Final = 1
"""Signals that one copy makes: a device runs a command whole."""
TIMES_SIZE: Final = 32
"""Bytes of an event's kernel timestamps."""


class Target(Protocol):
    """Where commands are going to stand: what they are put into knows its device."""

    @property
    def device(self) -> int:
        """Number of the device."""
        ...


class Place(Protocol):
    """A pointer of the application as the device understands it."""

    @property
    def address(self) -> int:
        """The address."""
        ...

    @property
    def is_client(self) -> bool:
        """Whether it is the application's own memory, which no page table maps."""
        ...


class Signal(NamedTuple):
    """Commands around those whose end an event signals; encoded."""

    before: bytes
    """What stands in front of them, for events that keep times."""
    after: bytes


class Storage(NamedTuple):
    """Memory of the application that an event counts in."""

    device_address: int
    completion_value: int
    increment: int = 0
    """What a signal adds; 0: nobody but the application stores there."""


@final
@dataclass(slots=True, eq=False)
class Event:
    """One event.

    Owner: the driver state of the process that made or opened it. Invariants: a slot of a pool that
    is shared is never cleared by who opened the pool; `expected` never falls. Once `gone` it is
    used no more.
    """

    id: int
    """Number that the process never uses again."""
    slot: Slot
    is_counting: bool = False
    expected: int = 1
    """Value of the slot from which on it is signalled."""
    keeps_times: bool = False
    may_signal: bool = True
    follows: bool = True
    """Whether what others ask for is expected too; who opened an event sees no later state."""
    what: str = "event"
    storage: Storage | None = None
    direct: DirectSlot = NO_SLOT
    """Its slot, where it is set and seen without a question; given up when it ends."""
    calls: int = 0
    """Calls that wait for it by a question."""
    gone: bool = False

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"{self.what} {self.id}"

    @property
    def waiters(self) -> int:
        """Calls that wait for it."""
        return self.calls + self.direct.waiters()

    def check(self) -> None:
        """Do nothing for an event that lives.

        Raises:
            ZeError: it was destroyed.
        """
        if self.gone:
            raise invalid_argument(f"{self.name} was destroyed")

    def check_plain(self, doing: str) -> None:
        """Do nothing for an event that can be set and reset.

        Raises:
            ZeError: it was destroyed, or counts.
        """
        self.check()
        if self.is_counting:
            raise invalid_synchronization_object(f"{self.name} counts, it cannot be {doing}")

    def wait_commands(self, state: DriverState, target: Target) -> bytes:
        """Return the commands that hold a ring until the event is signalled.

        Raises:
            ZeError: it was destroyed, or the target's device does not know it.
        """
        del state
        number = self._number_for(target)
        if self.storage is not None:
            return MemoryWait(
                flags=WorkFlags.NONE,
                tag=self.id & 0xFFFF_FFFF,
                source=self.storage.device_address,
                value=self.storage.completion_value,
            ).pack()
        return FenceWait(
            flags=WorkFlags.NONE,
            tag=self.id & 0xFFFF_FFFF,
            pool=number,
            slot=self.slot.index,
            value=self._expected_now(),
        ).pack()

    def signal_commands(self, state: DriverState, target: Target) -> Signal:
        """Return the commands that signal the event when those between them are done.

        A counting event is expected to reach the next number from now on.

        Raises:
            ZeError: it was destroyed, was opened and may only be waited for, or the target's device
                does not know it.
        """
        del state
        number = self._number_for(target)
        if not self.may_signal:
            raise invalid_synchronization_object(
                f"{self.name} was opened: it can only be waited for"
            )
        if self.storage is not None:
            return Signal(b"", self._add_to(self.storage))
        flags = WorkFlags.NONE
        if self.is_counting:
            flags = WorkFlags.RAISE_ONLY
            self._arm()
        before = b""
        if self.keeps_times:
            before = self._write(number, WorkFlags.STAMP_START, 0)
            flags |= WorkFlags.KEEP_START
        return Signal(before, self._write(number, flags, self.expected))

    def again(self, signal: bytes) -> bytes:
        """Return what a list that is executed once more puts in the place of a signal of its own.

        `signal` is what `signal_commands` returned as `after`. A counting event is expected to
        reach the next number, as if the signal had been asked for anew; any other stays as it is.
        """
        if not self.is_counting or self.storage is not None or self.gone:
            return signal
        self._arm()
        at = _VALUE_AT
        return signal[:at] + self.expected.to_bytes(8, "little") + signal[at + 8 :]

    def reset_commands(self, state: DriverState, target: Target) -> bytes:
        """Return the commands that make the event not signalled.

        Raises:
            ZeError: it was destroyed, counts, or the target's device does not know it.
        """
        del state
        number = self._number_for(target)
        self.check_plain("reset")
        return self._write(number, WorkFlags.NONE, 0)

    def times_commands(self, state: DriverState, target: Target, destination: Place) -> bytes:
        """Return the commands that store the event's kernel timestamps, 32 bytes.

        Raises:
            ZeError: it was destroyed, keeps no times, or the target's device does not know it.
        """
        del state
        number = self._number_for(target)
        self.check_times()
        flags = WorkFlags.CLIENT_DESTINATION if destination.is_client else WorkFlags.NONE
        return FenceTimes(
            flags=flags,
            tag=self.id & 0xFFFF_FFFF,
            pool=number,
            slot=self.slot.index,
            destination=destination.address,
        ).pack()

    def check_times(self) -> None:
        """Do nothing for an event that keeps times.

        Raises:
            ZeError: it was destroyed, or keeps none.
        """
        self.check()
        if not self.keeps_times:
            raise invalid_synchronization_object(f"{self.name} keeps no timestamps")

    def target_value(self) -> int:
        """Return the value of the slot from which on the event is signalled, as it is now."""
        return self._expected_now()

    def _expected_now(self) -> int:
        """Return what is expected; whoever opened the event may have asked for more signals."""
        if self.is_counting and self.follows:
            self.expected = max(self.expected, self._armed())
        return self.expected

    def _armed(self) -> int:
        """Return what the last signal asked for will store, or 0 where no signal can have.

        Every process that has the slot may store there: a number that no event comes to is nonsense
        that must not spread.
        """
        armed = self.slot.pool.memory.load(self.slot.index).armed
        return armed if armed <= COUNTER_MAX else 0

    def _arm(self) -> None:
        self.expected = max(self.expected, self._armed()) + 1
        self.slot.pool.memory.arm(self.slot.index, self.expected)

    def _number_for(self, target: Target) -> int:
        """Return what the target's device calls the event's pool."""
        self.check()
        number = self.slot.pool.numbers.get(target.device)
        if number is None:
            raise invalid_argument(f"{self.name} is not for device {target.device}")
        return number

    def _write(self, number: int, flags: WorkFlags, value: int) -> bytes:
        return FenceWrite(
            flags=flags,
            tag=self.id & 0xFFFF_FFFF,
            pool=number,
            slot=self.slot.index,
            value=value,
        ).pack()

    def _add_to(self, storage: Storage) -> bytes:
        if not storage.increment:
            raise invalid_synchronization_object(
                f"{self.name} is signalled by the application, by a store to"
                f" {storage.device_address:#x}"
            )
        return MemoryAdd(
            flags=WorkFlags.NONE,
            tag=self.id & 0xFFFF_FFFF,
            destination=storage.device_address,
            value=storage.increment,
        ).pack()


_VALUE_AT: Final = next(field.offset for field in FenceWrite.FIELDS if field.name == "value")
