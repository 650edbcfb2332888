"""DMA that fails, stops early, goes elsewhere or takes its time: small, batched and in chunks."""

from __future__ import annotations

import pytest

from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, Access
from firmware.abi.work import Copy, CopyRegion, Fill, WorkCommand, WorkFlags
from hostdriver.testing.pair import DeviceSpec, pair
from tests.harness.commands import copy, fill
from tests.harness.injected import MIB, A, B, Injected
from tests.harness.injection import faults_of
from tests.harness.levelzero import fails

LARGE = 6 * MIB
"""Moved in chunks."""


def region(width: int, height: int, depth: int, pitch: int, layer: int) -> CopyRegion:
    return CopyRegion(
        flags=WorkFlags.NONE,
        tag=0,
        source=A,
        destination=B,
        width=width,
        height=height,
        depth=depth,
        source_row_pitch=pitch,
        source_slice_pitch=layer,
        destination_row_pitch=pitch,
        destination_slice_pitch=layer,
    )


def bench(size: int = 16 * PAGE_SIZE) -> Injected:
    made = Injected(size)
    assert made.run(fill(A, size, 0x5A), fill(B, size, 0)) == []
    return made


@pytest.mark.parametrize(
    ("command", "size", "stop"),
    [
        pytest.param(copy(A, B, 256), 256, 100, id="small"),
        pytest.param(copy(A, B, 3 * PAGE_SIZE), 4 * PAGE_SIZE, PAGE_SIZE + 5, id="some-pages"),
        pytest.param(fill(B, 300, 0x5A), 300, 0, id="fill-nothing"),
        pytest.param(fill(B, LARGE, 0x5A), LARGE, 4 * MIB + 1, id="fill-in-chunks"),
        pytest.param(copy(A, B, LARGE), LARGE, 3 * MIB + 77, id="copy-in-chunks"),
    ],
)
def test_a_transfer_fails_at_the_byte_that_the_rule_names(
    command: Copy | Fill, size: int, stop: int
) -> None:
    b = bench(max(size, 16 * PAGE_SIZE))
    b.faults.add(f"dma.transfer partial={stop} times=1")
    (record,) = b.run(command, fill(A, 8, 1))
    assert (record.reason, record.va, record.access) == (
        FaultReason.TRANSFER,
        B + stop,
        Access.WRITE,
    )
    assert (record.opcode, record.level, record.seqno) == (
        command.OPCODE,
        0 if size < MIB else 1,
        3,
    )
    assert b.peek(B, size) == b"\x5a" * stop + bytes(size - stop)
    assert b.peek(A, 8) == b"\x5a" * 8, "what follows in the ring is not run"
    b.faults.clear()
    b.reset_queue()
    assert b.run(command) == []
    assert b.peek(B, command.size_bytes) == b"\x5a" * command.size_bytes
    b.end()


@pytest.mark.parametrize("stop", [0, 5, 16, 40, 64, 64 + 16 + 3, 2 * 64 + 3 * 16 + 15])
def test_a_box_fails_in_the_row_in_which_the_byte_is(stop: int) -> None:
    b = bench()
    box = region(16, 4, 3, 100, 1000)
    b.faults.add(f"dma.transfer partial={stop}")
    (record,) = b.run(box)
    slices, rest = divmod(stop, 64)
    rows, part = divmod(rest, 16)
    assert record.va == B + slices * 1000 + rows * 100 + part
    expected = bytearray(4000)
    for number in range(stop):
        layer, row = divmod(number, 64)
        line, column = divmod(row, 16)
        expected[layer * 1000 + line * 100 + column] = 0x5A
    assert b.peek(B, 4000) == expected
    b.faults.clear()
    b.reset_queue()
    assert b.run(box) == []
    b.end()


def test_a_transfer_that_loses_bytes_reports_success() -> None:
    b = bench()
    rule = b.faults.add("dma.transfer lose=10 opcode=COPY")
    assert b.run(copy(A, B, 100), region(16, 4, 1, 100, 1000)) == []
    assert b.completed == 4
    # Nobody asked for the box.
    assert b.peek(B, 200) == (b"\x5a" * 16).ljust(100, b"\0") + (b"\x5a" * 16).ljust(100, b"\0")
    b.faults.remove(rule)
    assert b.run(copy(A, B, 100)) == []
    assert b.peek(B, 100) == b"\x5a" * 100
    b.end()


def test_a_transfer_goes_to_another_page_or_faults_where_none_is_mapped() -> None:
    b = bench()
    b.faults.add("dma.transfer wrong_page=2")
    assert b.run(copy(A, B, 16)) == []
    assert b.peek(B, 16) == bytes(16)
    assert b.peek(B + 2 * PAGE_SIZE, 16) == b"\x5a" * 16
    (record,) = b.run(copy(A, B + b.size - PAGE_SIZE, 16))
    assert (record.reason, record.va) == (FaultReason.NOT_PRESENT, B + b.size + PAGE_SIZE)
    b.reset_queue()
    b.faults.clear()
    b.faults.add("dma.transfer wrong_page=-0x100000000")
    (record,) = b.run(copy(A, B, 16))
    assert record.reason is FaultReason.BAD_COMMAND
    b.faults.clear()
    b.reset_queue()
    assert b.run(copy(A, B, 16)) == []
    b.end()


@pytest.mark.parametrize("size", [64, LARGE])
def test_a_slow_transfer_holds_its_queue_alone_and_comes_in_the_end(size: int) -> None:
    b = bench(LARGE)
    other = b.client.queue(b.vmid)
    b.faults.add("dma.transfer delay=0.02 times=1")
    start = b.pair.now
    b.client.submit(b.queue, copy(A, B, size))
    b.pair.step()
    assert b.completed == 2
    b.client.submit(other, fill(A, 8, 7))
    b.pair.step()
    assert b.client.header(other.header).completed == 1
    assert b.run() == []
    assert b.completed == 3
    assert b.pair.now == start + 20_000_000
    assert b.peek(B, size) == b"\7" * 8 + b"\x5a" * (size - 8)
    b.end()


def test_a_delayed_transfer_goes_on_soon_when_its_rule_goes() -> None:
    b = bench()
    b.faults.add("dma.transfer delay=1000")
    b.client.submit(b.queue, copy(A, B, 64))
    b.pair.step()
    b.faults.clear()
    b.pair.now += 1_000_000
    assert b.run() == []
    assert b.completed == 3
    assert b.peek(B, 64) == b"\x5a" * 64
    b.end()


def test_a_queue_may_be_reset_or_its_client_die_while_its_transfer_is_delayed() -> None:
    b = bench()
    b.faults.add("dma.transfer delay=1000")
    b.client.submit(b.queue, copy(A, B, 64))
    b.pair.step()
    b.reset_queue()
    b.client.submit(b.queue, copy(A, B, 64))
    b.pair.step()
    b.end()


def test_the_rule_reaches_each_of_many_copies_that_else_go_together() -> None:
    b = bench()
    copies: list[WorkCommand] = [copy(A + 64 * n, B + 64 * n, 64) for n in range(40)]
    b.client.submit(b.queue, *copies)
    b.pair.step()
    assert b.device.inside.blocks.scheduler.statistics().batched == 40
    rule = b.faults.add("dma.transfer partial nth=31")
    (record,) = b.run(*copies)
    assert (record.va, record.seqno) == (B + 64 * 30, 2 + 40 + 31)
    b.reset_queue()
    b.faults.remove(rule)
    assert b.run(*copies) == []
    assert b.device.inside.blocks.scheduler.statistics().batched == 80
    b.end()


def test_selectors_choose_by_destination_queue_and_process() -> None:
    b = bench()
    where = f"address={B + PAGE_SIZE:#x}+0x1000 pid=4711 process=te* ring=work* device=0"
    b.faults.add(f"dma.transfer partial {where}")
    assert b.run(copy(A, B, PAGE_SIZE), copy(B, A, 4 * PAGE_SIZE)) == []
    (record,) = b.run(copy(A, B + 100, PAGE_SIZE))
    assert record.va == B + 100
    site = b.faults.hits[0].site
    assert (site.ring, site.opcode) == (f"work{b.queue.queue_id}", "COPY")
    assert (site.address, site.size) == (B + 100, PAGE_SIZE)
    b.end()


def test_a_program_is_told_that_the_copy_failed_where_and_why_and_copies_on() -> None:
    with pair(DeviceSpec(vram_size=64 << 20)) as p, p.driver.create_context() as context:
        pointer = context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        faults = faults_of(p)
        faults.add("dma.transfer partial=16 times=1")
        with fails("DEVICE_LOST", f"{pointer + 16:#x}", "the copy engine failed there"):
            context.memory_fill(pointer, b"x", 4096)
        context.memory_fill(pointer, b"y", 4096)
        assert context.memory_read(pointer, 4096) == b"y" * 4096
        context.mem_free(pointer)
        p.assert_nothing_left()
