"""`check()` finds a queue, a line or an engine that contradicts itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from device.core.engine import Activity, Scheduler
from device.core.errors import InternalError, InvariantError
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.registers import FAULT_STATUS
from firmware.abi.rings import RingState
from tests.harness.engine import Lane, Rig, copy, make_spec, nop, store, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.engine import WorkQueue

A = 0x1000_0000
MIB = 1 << 20


@pytest.fixture
def lane() -> Lane:
    rig = Rig(make_spec(copy_engines=1))
    client = rig.client()
    client.map(A, 4 * MIB)
    lane = client.queue()
    lane.submit(nop())
    rig.run()
    rig.scheduler.check()
    return lane


def skip_one(queue: WorkQueue) -> None:
    queue.taken += 1


def leave_a_job(queue: WorkQueue) -> None:
    queue.job = (() for _ in range(1))


def leave_a_command(queue: WorkQueue) -> None:
    queue.command = nop()
    queue.taken += 1


def stop_the_ring(queue: WorkQueue) -> None:
    queue.state = RingState.STOPPED


def claim_a_place(queue: WorkQueue) -> None:
    queue.activity = Activity.READY


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (skip_one, "command 2 taken, 1 completed, none in hand"),
        (leave_a_job, "the rest of a command, but no command"),
        (leave_a_command, "IDLE with a command in hand"),
        (stop_the_ring, "ring STOPPED, queue IDLE"),
        (claim_a_place, "are READY, in line for it stand"),
    ],
)
def test_damaged_queue_is_found(lane: Lane, damage: Callable[[WorkQueue], None], text: str) -> None:
    damage(lane.queue)

    with pytest.raises(InvariantError, match=text):
        lane.rig.scheduler.check()


def test_damaged_fences_are_found(lane: Lane) -> None:
    lane.submit(wait_for(0, 1))
    lane.rig.run()
    fences = lane.rig.scheduler.fences
    pool = lane.client.engine.pools[0]

    waits = fences.waits.pop((pool, 0))
    fences.waits[pool, 1] = waits
    with pytest.raises(InvariantError, match="slot 1 counts 0 waits of 1"):
        lane.rig.scheduler.check()

    waits.clear()
    with pytest.raises(InvariantError, match="no queue that waits"):
        lane.rig.scheduler.check()


def test_damaged_engines_are_found(lane: Lane) -> None:
    scheduler = lane.rig.scheduler
    lane.submit(copy(A, A + 2 * MIB, 2 * MIB))
    lane.rig.step()
    engines = scheduler._engines

    with pytest.raises(InternalError, match="before the last were done"):
        engines.submit(lane.queue, ())
    engines.line[lane.queue] = []
    with pytest.raises(InvariantError, match="without a move"):
        scheduler.check()
    del engines.line[lane.queue]
    engines.count = 0
    with pytest.raises(InvariantError, match="1 chunks in flight on 0 engines"):
        scheduler.check()


def test_damaged_fault_status_is_found(lane: Lane) -> None:
    lane.client.engine.faults._status = 2

    with pytest.raises(InvariantError, match="FAULT_STATUS 0x2 with 0 records dropped"):
        lane.rig.scheduler.check()


def test_host_cannot_upset_fault_status(lane: Lane) -> None:
    register = lane.client.plan.registers_offset + FAULT_STATUS.offset
    lane.client.words.store32(register, 0xFFFF_FFFF)
    lane.client.engine.faults.take_acknowledgement()
    lane.rig.scheduler.check()

    lane.submit(store(A + 64 * PAGE_SIZE * PAGE_SIZE, 1))
    lane.rig.run()
    assert lane.client.fault_status == 1


def test_bug_in_a_turn_names_its_queue_and_spares_the_others(lane: Lane) -> None:
    scheduler: Scheduler = lane.rig.scheduler
    other = lane.client.queue()

    class Broken:
        """An address space that no longer is one."""

        vmid = 9
        tlb = None

    lane.queue.space = Broken()  # type: ignore[assignment]
    lane.submit(copy(A, A + 64, 8))
    other.submit(nop())

    with pytest.raises(AttributeError):
        scheduler.work(1)
    culprit = scheduler.current
    assert culprit is lane.queue
    scheduler.lose(lane.queue)
    lane.rig.run()

    assert scheduler.current is None
    assert other.completed == 1
    assert lane.header.state is RingState.LOST
