"""What the system refuses the device: memory files, mappings, sending, looking at a program."""

from __future__ import annotations

import pytest

from firmware.abi.control import (
    FencePoolCreate,
    ObjectCreate,
    ObjectFlags,
    ObjectKind,
    SegmentRegister,
)
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, Access
from firmware.abi.replies import ObjectCreated
from firmware.abi.status import Status
from firmware.abi.work import Copy, WorkFlags
from hostdriver import levelzero as ze
from hostdriver.testing.pair import DeviceSpec, pair
from tests.harness.application_memory import mapped, poke
from tests.harness.commands import copy, fill
from tests.harness.deviceworld import HeapFile
from tests.harness.injected import MIB, A, B, Injected
from tests.harness.injection import faults_of
from tests.harness.levelzero import fails

SPEC = DeviceSpec(vram_size=64 * MIB)
HERE = 0x7000_0000
"""Where the client's own memory is."""
LARGE = 6 * MIB


# --- os.device.memory_file -----------------------------------------------------------------------


def test_a_memory_file_that_cannot_be_made_is_host_memory_that_is_exhausted() -> None:
    b = Injected()
    rule = b.faults.add("os.device.memory_file errno=EMFILE")
    command = ObjectCreate(
        request=b.client.request(),
        kind=ObjectKind.SYSTEM,
        flags=ObjectFlags.NONE,
        size_bytes=PAGE_SIZE,
        page_size=0,
    )
    assert b.client.refused(command).status is Status.OUT_OF_HOST_MEMORY
    pool = FencePoolCreate(request=b.client.request(), slot_count=4)
    assert b.client.refused(pool).status is Status.OUT_OF_HOST_MEMORY
    assert [hit.site.size for hit in b.faults.hits] == [PAGE_SIZE, PAGE_SIZE]
    b.device.check()
    b.faults.remove(rule)
    b.client.ask(command, ObjectCreated)
    b.end()


def test_a_program_without_files_is_told_of_host_memory_and_allocates_afterwards() -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        faults = faults_of(p)
        rule = faults.add("os.device.memory_file errno=ENFILE nth=1")
        with fails("OUT_OF_HOST_MEMORY"):
            context.mem_alloc_host(1 << 16)
        faults.remove(rule)
        context.mem_free(context.mem_alloc_host(1 << 16))
        p.assert_nothing_left()


# --- os.device.send ------------------------------------------------------------------------------


def test_descriptors_that_cannot_be_sent_leave_nothing_made() -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        faults = faults_of(p)
        rule = faults.add("os.device.send errno=EMSGSIZE")
        with fails("OUT_OF_HOST_MEMORY"):
            context.mem_alloc_host(1 << 16)
        with fails("OUT_OF_HOST_MEMORY"):
            context.event_pool_create(ze.EventPoolDesc(2, ze.EventPoolFlags.IPC))
        assert {hit.site.process for hit in faults.hits} == {"program"}
        faults.remove(rule)
        context.mem_free(context.mem_alloc_host(1 << 16))
        context.event_pool_create(ze.EventPoolDesc(2, ze.EventPoolFlags.IPC)).destroy()
        p.assert_nothing_left()


def test_descriptors_that_get_lost_are_missed_and_what_they_were_for_is_given_back() -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        faults = faults_of(p)
        faults.add("os.device.send drop times=2")
        with fails("OUT_OF_HOST_MEMORY", "did not send its descriptor"):
            context.mem_alloc_host(1 << 16)
        with fails("OUT_OF_HOST_MEMORY", "did not send its descriptor"):
            context.event_pool_create(ze.EventPoolDesc(2, ze.EventPoolFlags.IPC))
        p.assert_nothing_left()
        context.mem_free(context.mem_alloc_host(1 << 16))
        p.assert_nothing_left()


def test_a_socket_that_closes_ends_the_session_and_leaves_the_device_well() -> None:
    with pair(SPEC) as p:
        faults = faults_of(p)
        context = p.driver.create_context()
        context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        faults.add("os.device.send close times=1")
        with pytest.raises(ze.ZeError):
            context.mem_alloc_host(1 << 16)
        with fails("DEVICE_LOST"):
            context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        assert (p.statistics().object_count, p.statistics().client_count) == (0, 0)
        later = p.connect("later")
        with later.create_context() as other:
            other.mem_free(other.mem_alloc_host(1 << 16))
        later.close()
        p.check()


# --- os.device.map -------------------------------------------------------------------------------


def register(b: Injected, request: int) -> SegmentRegister:
    return SegmentRegister(
        request=request,
        kind=ObjectKind.CLIENT_DESCRIPTOR,
        flags=ObjectFlags.NONE,
        address=0,
        size_bytes=PAGE_SIZE,
    )


def test_a_descriptor_that_cannot_be_mapped_is_refused_and_closed() -> None:
    b = Injected()
    b.faults.add("os.device.map errno=ENOMEM times=1 process=test")
    files = [HeapFile(2 * PAGE_SIZE), HeapFile(2 * PAGE_SIZE)]
    port = b.pair.port(b.client)
    request = b.client.request()
    port.passed[request] = files[0]
    assert b.client.refused(register(b, request)).status is Status.BAD_DESCRIPTOR
    assert files[0].closed
    assert b.faults.hits[0].site.size == 2 * PAGE_SIZE
    request = b.client.request()
    port.passed[request] = files[1]
    b.client.ask(register(b, request), ObjectCreated)
    b.end()
    assert files[1].closed


# --- os.device.pages -----------------------------------------------------------------------------


def client_copy(size: int, *, to_client: bool) -> Copy:
    flag = WorkFlags.CLIENT_DESTINATION if to_client else WorkFlags.CLIENT_SOURCE
    return Copy(
        flags=flag,
        tag=0,
        source=A if to_client else HERE,
        destination=HERE if to_client else B,
        size_bytes=size,
    )


@pytest.mark.parametrize("size", [64, LARGE])
@pytest.mark.parametrize("to_client", [False, True])
def test_a_client_that_may_not_be_looked_at_faults_in_small_copies_and_in_chunks(
    size: int, to_client: bool
) -> None:
    b = Injected(LARGE)
    content = b.pair.port(b.client).pages.add(HERE, LARGE)
    content[:] = b"\x5a" * LARGE
    b.faults.add("os.device.pages errno=EPERM nth=2 pid=4711")
    commands = [client_copy(64, to_client=to_client), client_copy(size, to_client=to_client)]
    (record,) = b.run(*commands)
    assert (record.reason, record.va) == (FaultReason.CLIENT_MEMORY, HERE)
    assert record.access is (Access.WRITE if to_client else Access.READ)
    assert record.seqno == 2
    b.faults.clear()
    b.reset_queue()
    assert b.run(*commands) == []
    b.end()


def test_the_pages_of_a_chunk_are_decided_on_before_it_is_handed_out() -> None:
    b = Injected(LARGE)
    b.pair.port(b.client).pages.add(HERE, LARGE)
    b.faults.add("os.device.pages errno=EPERM nth=3")
    (record,) = b.run(client_copy(LARGE, to_client=False))
    assert (record.reason, record.va) == (FaultReason.CLIENT_MEMORY, HERE + 4 * MIB)
    assert [hit.site.size for hit in b.faults.hits] == [2 * MIB]
    b.reset_queue()
    b.end()


def test_pages_that_may_not_be_looked_at_are_not_imported() -> None:
    b = Injected()
    content = b.pair.port(b.client).pages.add(HERE, 2 * PAGE_SIZE)
    command = SegmentRegister(
        request=b.client.request(),
        kind=ObjectKind.CLIENT_PAGES,
        flags=ObjectFlags.NONE,
        address=HERE,
        size_bytes=2 * PAGE_SIZE,
    )
    b.faults.add("os.device.pages errno=EPERM")
    assert b.client.refused(command).status is Status.PERMISSION
    b.faults.clear()
    made = b.client.ask(command, ObjectCreated)
    b.client.map(b.vmid, 0x4000_0000, 2 * PAGE_SIZE, made.object_id)
    assert b.run(copy(0x4000_0000, A, 64)) == []
    # They are a client's own memory wherever they are mapped.
    b.faults.add("os.device.pages errno=EPERM process=te*")
    write = fill(0x4000_0000 + PAGE_SIZE, 64, 0x77)
    (record,) = b.run(write)
    assert (record.reason, record.va) == (FaultReason.CLIENT_MEMORY, 0x4000_0000 + PAGE_SIZE)
    assert not any(content)
    b.faults.clear()
    b.reset_queue()
    assert b.run(write) == []
    assert content[PAGE_SIZE : PAGE_SIZE + 64] == b"\x77" * 64
    b.end()


def test_clients_that_come_later_are_reached_too_and_those_that_go_are_forgotten() -> None:
    b = Injected()
    b.faults.add("os.device.send errno=EMSGSIZE")
    other = b.pair.attach()
    pool = FencePoolCreate(request=other.request(), slot_count=4)
    assert other.refused(pool).status is Status.OUT_OF_HOST_MEMORY
    b.pair.detach(other)
    assert (
        b.client.refused(FencePoolCreate(request=b.client.request(), slot_count=4)).status
        is Status.OUT_OF_HOST_MEMORY
    )
    b.end()


def test_a_program_is_told_that_its_own_memory_cannot_be_reached() -> None:
    with (
        pair(SPEC) as p,
        p.driver.create_context() as context,
        mapped(1 << 16) as buffer,
    ):
        faults = faults_of(p)
        desc = ze.HostMemAllocDesc(p_next=[ze.ExternalMemmapSysmemExtDesc(buffer, 1 << 16)])
        rule = faults.add("os.device.pages errno=EPERM")
        with fails("INSUFFICIENT_PERMISSIONS"):
            context.mem_alloc_host(1 << 16, desc=desc)
        faults.remove(rule)
        here = context.mem_alloc_host(1 << 16, desc=desc)
        poke(here, b"x" * (1 << 16))
        pointer = context.mem_alloc_device(p.driver.devices[0], 1 << 16)
        faults.add("os.device.pages errno=EPERM times=1")
        with fails("DEVICE_LOST", f"{here:#x}", "gone or protected"):
            context.memory_copy(pointer, here, 1 << 16)
        context.memory_copy(pointer, here, 1 << 16)
        assert context.memory_read(pointer, 8) == b"x" * 8
        context.mem_free(pointer)
        context.mem_free(here)
        p.assert_nothing_left()
