"""Lanes: what the driver copies with on behalf of a caller who waits.

A lane is a copy queue and, for bytes of the caller, staging memory that device and driver both map:
two halves, one of which the device reads or writes while the driver fills or empties the other. A
fault stops one lane's queue and nobody else's; a lane that failed is torn down, never used again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from firmware.abi.control import (
    Map,
    ObjectCreate,
    ObjectDestroy,
    ObjectFlags,
    ObjectKind,
    QueueCreate,
    QueueDestroy,
    QueueKind,
    Unmap,
)
from firmware.abi.ids import READ_WRITE
from firmware.abi.replies import Done, Mapped, ObjectCreated, QueueCreated
from firmware.abi.status import Status
from hostdriver.core.addresses import Place, cover, give_or_keep, take_addresses
from hostdriver.core.calls import call, exchange, expect
from hostdriver.core.commandqueues_rings import reclaim_queue
from hostdriver.core.failures import out_of_host_memory
from hostdriver.core.faulttext import work_failed
from hostdriver.core.physical import LARGE_PAGE
from hostdriver.core.questions import (
    CloseDescriptor,
    Faults,
    MapDescriptor,
    Pause,
    SharedWord,
    Submit,
    WaitWord,
)
from hostdriver.core.queue import word_of
from hostdriver.core.results import Refusal, ZeError, failed

if TYPE_CHECKING:
    from types import TracebackType

    from firmware.abi.work import WorkCommand
    from hostdriver.core.state import DeviceState, DriverState

HALF: Final = 4 << 20
"""Bytes of one half of a lane's staging memory."""
MOST_LANES: Final = 8
LANE_ENTRIES: Final = 64


@final
@dataclass(slots=True)
class Stage:
    """Staging memory, as far as it was made: each step sets what has to be undone."""

    object_id: int
    place: Place | None = None
    on_device: bool = False
    on_host: bool = False

    @property
    def va(self) -> int:
        """Its address for device and driver."""
        return 0 if self.place is None else self.place.va


@final
@dataclass(slots=True, eq=False)
class Lane:
    """One copy queue; the coroutine that borrowed it uses it alone."""

    queue: QueueCreated
    stage: Stage | None = None

    @property
    def word(self) -> SharedWord:
        """The count of commands that are done."""
        return word_of(self.queue)


@final
@dataclass(slots=True)
class LanePool:
    """The lanes of one device.

    Owner: the device's state. Invariant: `count` is the number of lanes idle, borrowed or broken,
    and of those that a coroutine is about to open.
    """

    idle: list[Lane] = field(default_factory=list[Lane])
    broken: list[Lane] = field(default_factory=list[Lane])
    count: int = 0


@final
class Borrowed:
    """A lane for the time of a `async with`; it goes back when all went well.

    After an error it is torn down, at once where the error is the driver's own, else by whoever
    borrows next: an interrupted coroutine may not ask any more.
    """

    __slots__ = ("_device", "_lane", "_state")
    _lane: Lane

    def __init__(self, state: DriverState, device: DeviceState) -> None:
        self._state = state
        self._device = device

    async def __aenter__(self) -> Lane:
        """Take an idle lane or open one.

        Raises:
            ZeError: the device has no queue to give, or is lost.
        """
        pool = self._device.lanes
        await _tear_down_broken(self._state, self._device)
        while not pool.idle:
            lane = await _open_lane(self._state, self._device) if pool.count < MOST_LANES else None
            if lane is not None:
                pool.idle.append(lane)
            else:
                await Pause()
        self._lane = pool.idle.pop()
        return self._lane

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pool = self._device.lanes
        if error is None:
            pool.idle.append(self._lane)
            return
        pool.broken.append(self._lane)
        if isinstance(error, ZeError):
            await _tear_down_broken(self._state, self._device)


async def _open_lane(state: DriverState, device: DeviceState) -> Lane | None:
    """Make a lane without staging memory; None when the device has no more, but others exist.

    The first one may have the queue of a stream that idles.
    """
    pool = device.lanes
    pool.count += 1
    entries = min(max(LANE_ENTRIES, device.spec.min_ring_entries), device.spec.max_ring_entries)
    command = QueueCreate(
        request=0, vmid=device.vmid, kind=QueueKind.COPY, entry_count=entries, priority=0
    )
    try:
        try:
            return Lane(await call(device.index, command, QueueCreated))
        except Refusal as refusal:
            is_first = refusal.status is Status.LIMIT and pool.count == 1
            if not (is_first and await reclaim_queue(state, device.index)):
                raise
            return Lane(await call(device.index, command, QueueCreated))
    except Refusal as refusal:
        pool.count -= 1
        if refusal.status is Status.LIMIT and pool.count:
            return None
        raise failed(refusal, "a copy queue cannot be made") from refusal
    except BaseException:
        pool.count -= 1
        raise


async def stage_of(state: DriverState, device: DeviceState, lane: Lane) -> int:
    """Return the address of a lane's staging memory, two halves; make it at first use.

    Raises:
        ZeError: there is no memory or address space for it.
    """
    if lane.stage is not None:
        return lane.stage.va
    create = ObjectCreate(
        request=0,
        kind=ObjectKind.SYSTEM,
        flags=ObjectFlags.NONE,
        size_bytes=2 * HALF,
        page_size=LARGE_PAGE,
    )
    doing = "staging memory cannot be made"
    try:
        answer = await exchange(device.index, create)
        stage = Stage(expect(answer.reply, ObjectCreated).object_id)
        lane.stage = stage
        try:
            await _map_stage(state, device, stage, answer.descriptors)
        finally:
            for descriptor in answer.descriptors:
                await CloseDescriptor(descriptor)
    except Refusal as refusal:
        raise failed(refusal, doing) from refusal
    return stage.va


async def _map_stage(
    state: DriverState, device: DeviceState, stage: Stage, descriptors: tuple[int, ...]
) -> None:
    if not descriptors:
        raise out_of_host_memory("the descriptor of the staging memory did not arrive")
    stage.place = await take_addresses(state, 2 * HALF, LARGE_PAGE)
    if stage.place is None:
        raise out_of_host_memory(f"no address space is left for {2 * HALF:#x} bytes of staging")
    command = Map(
        request=0,
        vmid=device.vmid,
        rights=READ_WRITE,
        va=stage.va,
        size_bytes=2 * HALF,
        object_id=stage.object_id,
        object_offset=0,
    )
    await call(device.index, command, Mapped)
    stage.on_device = True
    problem = await MapDescriptor(descriptors[0], 0, stage.va, 2 * HALF)
    if problem is not None:
        raise out_of_host_memory(f"staging memory cannot be mapped: {problem}")
    stage.on_host = True


async def run(device: DeviceState, lane: Lane, *commands: WorkCommand) -> int:
    """Put commands into a lane's queue; return the number of the last one."""
    packed = tuple(command.pack() for command in commands)
    return await Submit(device.index, lane.queue.queue_id, packed)


async def finish(device: DeviceState, lane: Lane, seqno: int, doing: str) -> None:
    """Wait until the command with this number is done.

    Raises:
        ZeError: the queue stopped before; the description says which command did what where.
    """
    waited = await WaitWord(device.index, lane.word, seqno)
    if waited.value < seqno:
        faults = await Faults(device.index, lane.queue.queue_id)
        raise work_failed(waited.status, faults, doing)


async def _tear_down_broken(state: DriverState, device: DeviceState) -> None:
    pool = device.lanes
    while pool.broken:
        lane = pool.broken.pop()
        pool.count -= 1
        try:
            await _tear_down(state, device, lane)
        except (Refusal, ZeError):
            # The device is lost and takes the rest with it; whoever asks next is told so.
            continue


async def _tear_down(state: DriverState, device: DeviceState, lane: Lane) -> None:
    await call(device.index, QueueDestroy(request=0, queue_id=lane.queue.queue_id), Done)
    stage = lane.stage
    if stage is None:
        return
    if stage.on_device:
        unmap = Unmap(request=0, vmid=device.vmid, va=stage.va, size_bytes=2 * HALF)
        await call(device.index, unmap, Mapped)
    is_covered = not stage.on_host or await cover(stage.va, 2 * HALF)
    if stage.place is not None:
        await give_or_keep(state, stage.place, is_covered=is_covered)
    await call(device.index, ObjectDestroy(request=0, object_id=stage.object_id), Done)
