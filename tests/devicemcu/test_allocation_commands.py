"""ALLOCATE: memory made and mapped in one step, all or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from firmware.abi.control import (
    ObjectFlags,
    ObjectKind,
)
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.replies import Allocated, Released
from firmware.abi.status import Status
from tests.harness.allocation_bench import SIZE, VA, AllocationBench, fill


@pytest.mark.parametrize("kind", [ObjectKind.VRAM, ObjectKind.SYSTEM])
def test_memory_is_made_and_mapped_in_one_step_and_goes_in_one(kind: ObjectKind) -> None:
    bench = AllocationBench()
    before = bench.free
    first = bench.client.ask(bench.allocate(kind=kind), Allocated)
    files = bench.pair.port(bench.client).received
    assert first.descriptors == len(files) == (kind is ObjectKind.SYSTEM)

    queue = bench.client.queue(bench.vmid)
    bench.client.submit(queue, fill(VA, SIZE))
    bench.pair.step()
    assert not bench.client.faults()
    bench.pair.device.check()

    released = bench.client.ask(bench.release(first.object_id), Released)
    assert (released.number, released.released) == (0, 0)
    bench.client.submit(queue, fill(VA))
    bench.pair.step()
    assert len(bench.client.faults()) == 1
    bench.pair.device.check()
    assert before - bench.free <= 3 * PAGE_SIZE  # tables stay for the next mapping


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"va": VA + 1}, Status.BAD_ALIGNMENT),
        ({"va": 1 << 48}, Status.BAD_RANGE),
        ({"size": 0}, Status.BAD_RANGE),
        ({"size": 8 << 20}, Status.OUT_OF_DEVICE_MEMORY),
        ({"kind": ObjectKind.CLIENT_DESCRIPTOR}, Status.UNSUPPORTED),
        ({"kind": ObjectKind.CLIENT_PAGES}, Status.CLIENT_MEMORY),
        ({"kind": ObjectKind.SYSTEM, "flags": ObjectFlags.READ_ONLY}, Status.BAD_RIGHTS),
        ({"va": 2 * VA}, Status.OVERLAP),
    ],
)
def test_refused_allocation_leaves_nothing(change: dict[str, Any], status: Status) -> None:
    bench = AllocationBench()
    bench.allocated(2 * VA)
    audit = bench.free, len(bench.pair.system_memory.open_files)
    command = bench.allocate(**change)

    assert bench.client.refused(command).status is status

    assert (bench.free, len(bench.pair.system_memory.open_files)) == audit
    assert bench.pair.port(bench.client).received == []
    bench.pair.device.check()


def test_allocation_in_a_foreign_space_is_refused() -> None:
    bench = AllocationBench()
    other = bench.pair.attach()

    assert other.refused(bench.allocate()).status is Status.BAD_SPACE


def test_descriptor_that_cannot_be_sent_takes_the_mapping_back() -> None:
    bench = AllocationBench()
    bench.pair.port(bench.client).refuses = True
    refused = bench.client.refused(bench.allocate(kind=ObjectKind.SYSTEM))

    assert refused.status is Status.OUT_OF_HOST_MEMORY
    bench.pair.device.check()
    assert bench.allocated()


def test_the_clients_own_pages_are_mapped_in_one_step_and_stay_as_they_are() -> None:
    bench = AllocationBench()
    heap = bench.pair.port(bench.client).pages.add(VA, SIZE)
    first = bench.client.ask(bench.allocate(kind=ObjectKind.CLIENT_PAGES), Allocated)
    assert first.descriptors == 0

    queue = bench.client.queue(bench.vmid)
    bench.client.submit(queue, fill(VA, SIZE))
    bench.pair.step()
    assert not bench.client.faults()
    written = bytes(heap)
    assert any(written)
    bench.pair.device.check()

    assert bench.client.ask(bench.release(first.object_id), Released).number == 0
    assert bytes(heap) == written
    bench.pair.device.check()


def test_pages_that_are_mapped_already_are_not_registered() -> None:
    bench = AllocationBench()
    bench.pair.port(bench.client).pages.add(VA, SIZE)
    bench.allocated()
    objects = bench.pair.device.statistics().object_count

    refused = bench.client.refused(bench.allocate(kind=ObjectKind.CLIENT_PAGES))

    assert (refused.status, refused.detail) == (Status.OVERLAP, VA)
    assert bench.pair.device.statistics().object_count == objects
    bench.pair.device.check()
