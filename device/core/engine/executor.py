"""What each command does: one function for each, and the model time that it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from device.core.engine.arguments import check_flags, check_range
from device.core.engine.copies import Copies
from device.core.engine.fences import is_reached
from device.core.engine.fills import Fills
from device.core.engine.large import CHECK_BYTES, INLINE_BYTES
from device.core.engine.regions import Regions
from device.core.engine.words import WordUnit
from device.core.errors import EngineFault, InternalError
from firmware.abi.ids import VA_LIMIT, Access
from firmware.abi.work import (
    Advice,
    Advise,
    Barrier,
    Copy,
    CopyRegion,
    FenceTimes,
    FenceWait,
    FenceWrite,
    Fill,
    MemoryAdd,
    MemoryWait,
    MemoryWrite,
    Nop,
    Prefetch,
    TimestampWrite,
    WorkCommand,
    WorkFlags,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from device.core.engine.fences import Fences
    from device.core.engine.queue import WorkQueue
    from device.core.engine.steps import Job
    from device.core.memory import MemoryController
    from device.core.paging import AddressSpace
    from device.core.spec import DeviceSpec

_KIB: Final = 1024
_NO_FLAGS: Final = WorkFlags.NONE


@dataclass(frozen=True, slots=True)
class ExecutorStatistics:
    """What commands told about their memory."""

    advice: Mapping[Advice, int]
    """Bytes that each kind of advice was given for."""
    prefetched_bytes: int


@final
class Executor:
    """Runs decoded commands.

    Owner: the scheduler. It keeps nothing between commands but counters; a device reset keeps
    those.
    """

    __slots__ = (
        "_advice",
        "_fences",
        "_fills",
        "_latencies",
        "_prefetched",
        "_regions",
        "_words",
        "copies",
    )

    def __init__(self, memory: MemoryController, spec: DeviceSpec, fences: Fences) -> None:
        self._fences = fences
        self._latencies = spec.latencies
        self._words = WordUnit(memory)
        self._fills = Fills(memory, spec.chunk_bytes, spec.copy_engines)
        self.copies = Copies(memory, spec.chunk_bytes, spec.copy_engines)
        self._regions = Regions(memory, self.copies)
        self._advice = dict.fromkeys(Advice, 0)
        self._prefetched = 0

    @property
    def timed(self) -> bool:
        """Whether commands take model time."""
        return bool(self._latencies.command_ticks or self._latencies.copy_ticks_per_kib)

    def cost(self, command: WorkCommand) -> int:
        """Return the model time of a command in ticks."""
        moved = 0
        match command:
            case Copy() | Fill():
                moved = command.size_bytes
            case CopyRegion():
                moved = command.width * command.height * command.depth
            case _:
                pass
        if moved > VA_LIMIT:
            # More than there is: it faults, and need not wait for that.
            moved = 0
        latencies = self._latencies
        return latencies.command_ticks + latencies.copy_ticks_per_kib * -(-moved // _KIB)

    def execute(self, queue: WorkQueue, command: WorkCommand) -> Job | None:
        """Run a command; return what is left of it when it has to give way, else None.

        Raises:
            EngineFault: it cannot go on.
        """
        if command.flags is not _NO_FLAGS:
            check_flags(command)
        match command:
            case Copy():
                return self.copies.copy(queue, command)
            case FenceWrite():
                self._fences.write(queue, command)
            case FenceWait():
                return self._wait(queue, command)
            case Fill():
                return self._fills.fill(queue, command)
            case CopyRegion():
                return self._regions.copy(queue, command)
            case _:
                return self._execute_rarer(queue, command)
        return None

    def statistics(self) -> ExecutorStatistics:
        """Return what commands told about their memory since boot."""
        return ExecutorStatistics(dict(self._advice), self._prefetched)

    def _execute_rarer(self, queue: WorkQueue, command: WorkCommand) -> Job | None:
        match command:
            case MemoryWrite():
                self._words.write(queue, command, command.value)
            case TimestampWrite():
                self._words.write(queue, command, queue.clock)
            case MemoryAdd():
                self._words.add(queue, command)
            case MemoryWait():
                return self._words.wait(queue, command)
            case FenceTimes():
                self._words.write(queue, command, *self._fences.times(queue, command) * 2)
            case Nop() | Barrier():
                # Commands of a ring end in order, and each is visible when it ends: a barrier has
                # nothing to wait for.
                pass
            case Prefetch():
                return self._prefetch(queue, command)
            case Advise():
                self._advise(command)
            case _:
                raise InternalError(f"{type(command).__name__} was decoded, but nothing runs it")
        return None

    def _wait(self, queue: WorkQueue, command: FenceWait) -> Job | None:
        hold = self._fences.hold_for(queue, command)
        if hold is None:
            return None
        queue.waits += 1

        def until_reached() -> Job:
            # Between the release of this queue and its turn its client may close the pool.
            hold.pool.hold()
            try:
                yield hold
                is_reached(hold)
            finally:
                hold.pool.drop()

        return until_reached()

    def _prefetch(self, queue: WorkQueue, command: Prefetch) -> Job | None:
        """Translate a range, whatever its rights, in parts that leave time for others."""
        start, size = command.address, command.size_bytes
        check_range(command, "address", start, size, Access.READ, client=False)
        if not size:
            return None
        space = queue.space

        def rest(done: int) -> Job:
            yield ()
            for offset in range(done, size, CHECK_BYTES):
                _touch(space, start + offset, min(CHECK_BYTES, size - offset))
                yield ()

        first = min(CHECK_BYTES, size)
        _touch(space, start, first)
        self._prefetched += size
        return rest(first) if first > INLINE_BYTES else None

    def _advise(self, command: Advise) -> None:
        check_range(
            command, "address", command.address, command.size_bytes, Access.READ, client=False
        )
        self._advice[command.advice] += command.size_bytes


def _touch(space: AddressSpace, va: int, size: int) -> None:
    """Translate a range that may be mapped with any rights.

    Raises:
        EngineFault: at the first address that is not mapped.
    """
    try:
        space.translate(va, size, Access(0))
    except EngineFault as fault:
        # No right was asked for, but the record says what a prefetch is for.
        raise EngineFault(fault.reason, fault.va, Access.READ, fault.level, fault.entry) from fault
