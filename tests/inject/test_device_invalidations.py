"""TLBs that keep what they were told to forget, and acknowledgements that do not come."""

from __future__ import annotations

import pytest

from firmware.abi.control import (
    InvalidateScope,
    Release,
    ReleaseMode,
    TlbInvalidate,
    Unmap,
)
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.replies import Invalidated, Mapped
from hostdriver.testing.pair import DeviceSpec, pair
from tests.harness.commands import copy, fill
from tests.harness.injected import MIB, A, B, Injected
from tests.harness.injection import faults_of
from tests.harness.levelzero import fails

VA = 0x4000_0000
D = B + 8 * PAGE_SIZE
"""Bytes whose page has another place in the TLB than A's first ones."""
LARGE = 6 * MIB


def unmap(b: Injected, va: int, size: int) -> Unmap:
    return Unmap(request=b.client.request(), vmid=b.vmid, va=va, size_bytes=size)


def stale(rule: str = "mmu.invalidate keep_stale") -> tuple[Injected, str]:
    """Return a bench in which A was used, then unmapped under a rule, and its memory is at VA."""
    b = Injected()
    assert b.run(fill(A, PAGE_SIZE, 0x5A), copy(A, D, 8)) == []
    name = b.faults.add(rule)
    b.client.ask(unmap(b, A, b.size), Mapped)
    return b, name


def test_a_stale_translation_is_used_until_somebody_really_invalidates() -> None:
    b, _ = stale(f"mmu.invalidate keep_stale address={A:#x} times=1")
    assert b.run(copy(A, D + 64, 8)) == [], "the TLB still knows where A was"
    assert b.peek(D + 64, 8) == b"\x5a" * 8
    (record,) = b.run(copy(A + PAGE_SIZE, D, 8))
    assert (record.reason, record.va) == (FaultReason.NOT_PRESENT, A + PAGE_SIZE)
    b.reset_queue()
    b.device.check()
    command = TlbInvalidate(
        request=b.client.request(), scope=InvalidateScope.PAGE, vmid=b.vmid, va=A, size_bytes=0
    )
    assert b.client.ask(command, Invalidated).entry_count == 1
    (record,) = b.run(copy(A, D + 64, 8))
    assert (record.reason, record.va) == (FaultReason.NOT_PRESENT, A)
    b.reset_queue()
    b.end()


def test_a_stale_translation_hides_what_is_mapped_there_now() -> None:
    b, _ = stale()
    fresh = b.client.object(b.size)
    b.client.map(b.vmid, A, b.size, fresh)
    assert b.run(fill(A, 8, 0x77)) == []
    assert b.peek(A, 8) == bytes(8)
    b.faults.clear()
    assert b.run(fill(A, 8, 0x77)) == []
    assert b.peek(A, 8) == b"\x77" * 8
    b.end()


def test_stale_translations_go_with_their_rule_also_while_others_are_there() -> None:
    b, name = stale()
    b.faults.add("mmu.invalidate drop nth=1000")
    b.faults.remove(name)
    b.pair.step()
    (record,) = b.run(copy(A, D, 8))
    assert record.reason is FaultReason.NOT_PRESENT
    b.end()


def test_stale_translations_go_with_a_reset() -> None:
    b, _ = stale()
    b.device.reset(b.pair.now)
    b.pair.step()
    b.device.check()
    b.begin()
    b.client.ask(unmap(b, A, b.size), Mapped)
    (record,) = b.run(copy(A, D, 8))
    assert record.reason is FaultReason.NOT_PRESENT


def forgetting(b: Injected, kind: str, request: int, object_id: int) -> bytes:
    """Return a command that has translations forgotten."""
    match kind:
        case "unmap":
            return Unmap(request=request, vmid=b.vmid, va=VA, size_bytes=b.size).pack()
        case "invalidate":
            return TlbInvalidate(
                request=request, scope=InvalidateScope.SPACE, vmid=b.vmid, va=0, size_bytes=0
            ).pack()
        case _:
            return Release(
                request=request,
                vmid=b.vmid,
                mode=ReleaseMode.WAIT,
                va=VA,
                size_bytes=b.size,
                object_id=object_id,
            ).pack()


def unacknowledged(kind: str) -> tuple[Injected, int, str]:
    """Return a bench in which a command waits for ever for its acknowledgement."""
    b = Injected()
    object_id = b.client.object(b.size)
    b.client.map(b.vmid, VA, b.size, object_id)
    free = b.statistics().free_bytes
    request = b.client.request()
    name = b.faults.add("mmu.invalidate drop times=1")
    b.faults.add("mmu.invalidate drop nth=1000")
    b.client.send(forgetting(b, kind, request, object_id))
    b.pair.step()
    b.pair.now += 10**10
    b.pair.step()
    assert b.client.replies() == []
    # Tables may have gone with the entries; the memory itself is held.
    assert b.statistics().free_bytes < free + b.size
    b.device.check()
    # Everything else goes on.
    assert b.run(fill(A, 8, 1)) == []
    assert b.client.unmap(b.vmid, B, PAGE_SIZE) == 1
    return b, request, name


@pytest.mark.parametrize("kind", ["unmap", "invalidate", "release"])
@pytest.mark.parametrize("only_that_rule", [False, True])
def test_a_lost_acknowledgement_holds_the_reply_until_the_rule_goes(
    kind: str, only_that_rule: bool
) -> None:
    b, request, name = unacknowledged(kind)
    before = b.statistics().free_bytes
    if only_that_rule:
        b.faults.remove(name)
        b.device.inside.pump.dirty = True
    else:
        b.faults.clear()
    b.pair.step()
    (reply,) = b.client.replies()
    assert (reply.request, reply.status) == (request, 0)
    assert b.statistics().free_bytes == before + (b.size if kind == "release" else 0)
    b.end()


@pytest.mark.parametrize("kind", ["unmap", "invalidate", "release"])
@pytest.mark.parametrize("end", ["reset", "death"])
def test_what_waits_for_a_lost_acknowledgement_ends_with_the_session(kind: str, end: str) -> None:
    b, _, _ = unacknowledged(kind)
    if end == "reset":
        b.device.reset(b.pair.now)
        b.pair.step()
        b.device.check()
    b.pair.detach(b.client)
    b.pair.step()
    b.device.check()
    assert b.statistics().free_bytes == b.before.free_bytes
    assert not b.device.inside.blocks.acknowledgements
    b.begin()
    assert b.run(fill(A, 8, 1)) == []
    b.end()


def test_memory_whose_acknowledgement_was_lost_is_not_given_to_others() -> None:
    b = Injected()
    object_id = b.client.object(4 * MIB)
    b.client.map(b.vmid, VA, 4 * MIB, object_id)
    b.faults.add("mmu.invalidate drop times=1")
    release = Release(
        request=b.client.request(),
        vmid=b.vmid,
        mode=ReleaseMode.WAIT,
        va=VA,
        size_bytes=4 * MIB,
        object_id=object_id,
    )
    b.client.send(release.pack())
    b.pair.step()
    held = b.statistics().free_bytes
    other = b.pair.attach()
    taken = held // 2 & -PAGE_SIZE
    other.object(taken)
    assert b.statistics().free_bytes == held - taken
    b.faults.clear()
    b.pair.step()
    assert b.statistics().free_bytes == held - taken + 4 * MIB
    b.pair.detach(other)
    b.client.replies()
    b.end()


def test_a_program_reads_its_freed_memory_through_a_stale_translation() -> None:
    with pair(DeviceSpec(vram_size=64 * MIB)) as p, p.driver.create_context() as context:
        device = p.driver.devices[0]
        first = context.mem_alloc_device(device, 1 << 16)
        other = context.mem_alloc_device(device, 1 << 16)
        context.memory_fill(first, b"x", 64)
        context.memory_copy(other, first, 64)
        faults = faults_of(p)
        faults.add("mmu.invalidate keep_stale")
        context.mem_free(first)
        context.memory_copy(other, first, 64)
        faults.clear()
        with fails("DEVICE_LOST", f"{first:#x}", "nothing is mapped there"):
            context.memory_copy(other, first, 64)
        context.mem_free(other)
        p.assert_nothing_left()
