"""Queues that hang, whose engine is reset, or that wait; the others go on."""

from __future__ import annotations

import pytest

from firmware.abi.control import QueueDestroy, QueueReset
from firmware.abi.faults import FaultReason
from firmware.abi.rings import RingState
from firmware.abi.status import Status
from hostdriver import levelzero as ze
from hostdriver.testing.pair import DeviceSpec, Pair, pair
from hostdriver.testing.waiting import Stuck
from tests.harness.injection import faults_of
from tests.harness.injection_bench import Bench, add, fill
from tests.harness.levelzero import fails

SPEC = DeviceSpec(vram_size=64 << 20)
MS = 1_000_000
FOREVER = 2**64 - 1


@pytest.fixture
def bench() -> Bench:
    return Bench()


class Program:
    """A program with a queue, a list that fills memory, and a fence."""

    def __init__(self, p: Pair, name: str = "worker") -> None:
        self.driver = p.connect(name)
        self.context = self.driver.create_context()
        self.device = self.driver.devices[0]
        self.pointer = self.context.mem_alloc_device(self.device, 1 << 16)
        self.queue = self.context.command_queue_create(self.device, ze.CommandQueueDesc())
        self.list = self.context.command_list_create(self.device, ze.CommandListDesc())
        self.list.append_memory_fill(self.pointer, b"\x21", 4096)
        self.list.close()

    def submit(self) -> None:
        self.queue.execute_command_lists([self.list])

    def works(self) -> bool:
        self.submit()
        self.queue.synchronize(FOREVER)
        return self.context.memory_read(self.pointer, 4096) == b"\x21" * 4096


def test_a_queue_that_hangs_does_nothing_and_the_others_go_on(bench: Bench) -> None:
    other = bench.client.queue(bench.vmid)
    rule = bench.faults.add(f"device.queue hang object={bench.queue.queue_id}")
    assert bench.run(add(1), add(2)) == 0
    assert not bench.pair.device.has_work
    bench.client.submit(other, add(4))
    bench.pair.step()
    assert bench.word() == 4
    assert bench.run(add(8)) == 0
    assert len(bench.faults.hits) == 1, "it hangs, and is not asked for again"
    bench.pair.device.check()
    bench.faults.remove(rule)
    bench.pair.step()
    assert (bench.word(), bench.completed) == (15, 3)
    bench.is_well()


def test_a_queue_that_hangs_is_reset(bench: Bench) -> None:
    bench.faults.add("device.queue hang nth=1")
    assert bench.run(add(1), add(2)) == 0
    reset = QueueReset(request=bench.client.request(), queue_id=bench.queue.queue_id)
    assert bench.client.call(reset).status is Status.OK
    bench.queue.tail = 0
    assert bench.state is RingState.RUNNING
    assert bench.run(add(4)) == 3
    assert bench.word() == 4
    bench.is_well()


def test_a_queue_that_hangs_is_destroyed(bench: Bench) -> None:
    bench.faults.add("device.queue hang nth=1")
    assert bench.run(add(1)) == 0
    destroy = QueueDestroy(request=bench.client.request(), queue_id=bench.queue.queue_id)
    assert bench.client.call(destroy).status is Status.OK
    bench.is_well()


def test_a_wait_without_a_limit_ends_when_the_device_is_reset() -> None:
    with pair(SPEC) as p:
        program = Program(p)
        faults = faults_of(p)
        faults.add("device.queue hang process=worker")
        program.submit()
        with pytest.raises(Stuck):
            program.queue.synchronize(FOREVER)
        with pytest.raises(ze.ZeError, match="NOT_READY"):
            program.queue.synchronize(1000)
        p.device.reset(p.now)
        with fails("DEVICE_LOST"):
            program.queue.synchronize(FOREVER)
        faults.clear()
        program.driver.close()
        assert Program(p).works()


def test_a_wait_without_a_limit_ends_when_the_rule_goes() -> None:
    with pair(SPEC) as p:
        program = Program(p)
        faults = faults_of(p)
        faults.add("device.queue hang process=worker")
        program.submit()
        with pytest.raises(Stuck):
            program.queue.synchronize(FOREVER)
        assert Program(p, "other").works()
        faults.clear()
        program.queue.synchronize(FOREVER)
        assert program.works()


def test_an_engine_reset_stops_the_queue_with_a_fault_record(bench: Bench) -> None:
    bench.faults.add("device.queue reset nth=1")
    assert bench.run(add(1), add(2)) == 0
    (fault,) = bench.client.faults()
    assert (fault.reason, bench.state) == (FaultReason.ENGINE_RESET, RingState.STOPPED)
    assert fault.seqno == 1
    reset = QueueReset(request=bench.client.request(), queue_id=bench.queue.queue_id)
    assert bench.client.call(reset).status is Status.OK
    bench.queue.tail = 0
    assert bench.run(add(4)) == 3
    bench.is_well()


def test_a_program_is_told_of_an_engine_reset_and_a_new_queue_works() -> None:
    with pair(SPEC) as p:
        program = Program(p)
        faults = faults_of(p)
        faults.add("device.queue reset process=worker nth=1")
        program.submit()
        with fails("DEVICE_LOST", "the engine was reset"):
            program.queue.synchronize(FOREVER)
        program.queue.destroy()
        program.queue = program.context.command_queue_create(program.device, ze.CommandQueueDesc())
        assert program.works()
        assert faults.fired == ["device.queue"]


def test_an_engine_reset_under_a_copy_of_the_driver_is_told_and_the_next_one_works() -> None:
    with pair(SPEC) as p:
        program = Program(p)
        faults = faults_of(p)
        faults.add("device.queue reset nth=1")
        with fails("DEVICE_LOST", "the engine was reset"):
            program.context.memory_read(program.pointer, 64)
        program.context.memory_fill(program.pointer, b"\x07", 64)
        assert program.context.memory_read(program.pointer, 64) == b"\x07" * 64


def test_a_delayed_queue_takes_its_turn_later_and_is_not_delayed_twice(bench: Bench) -> None:
    bench.faults.add("device.queue delay=0.002")
    assert bench.run(fill(3), add(1)) == 0
    bench.pair.now += 2 * MS - 1
    bench.pair.step()
    assert bench.completed == 0
    bench.pair.now += 1
    bench.pair.step()
    assert bench.completed == 2
    assert len(bench.faults.hits) == 1
    bench.is_well()


def test_a_delayed_queue_goes_on_at_once_when_the_rule_goes(bench: Bench) -> None:
    bench.faults.add("device.queue delay=60")
    assert bench.run(add(1)) == 0
    bench.faults.clear()
    bench.pair.step()
    assert bench.completed == 1
    bench.is_well()


def test_a_client_dies_while_its_queues_hang_and_wait(bench: Bench) -> None:
    for action in ("hang", "delay=60"):
        other = bench.pair.attach()
        queue = other.queue(other.space())
        bench.faults.add(f"device.queue {action} object={queue.queue_id}")
        other.submit(queue, add(1))
        bench.pair.step()
        bench.pair.detach(other)
        bench.pair.step()
        bench.pair.device.check()
    bench.is_well()
