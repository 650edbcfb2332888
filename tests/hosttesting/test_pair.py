"""Drivers and devices in one process: the same objects, stepped, and a check for what is left."""

import os
from dataclasses import replace

import pytest

from device.core.spec import Latencies
from hostdriver import levelzero as ze
from hostdriver.core.commandqueues_rings import STREAM_ENTRIES
from hostdriver.core.questions import SharedWord, WaitWord
from hostdriver.core.state import DriverState, Profile
from hostdriver.testing.pair import DeviceSpec, Pair, pair
from hostdriver.testing.waiting import Stuck
from tests.harness.levelzero import HOST, PAGE, fails

SPEC = DeviceSpec(vram_size=64 << 20)


def mapped(context: ze.Context, device: ze.Device, flags: int = 1) -> tuple[int, ze.PhysicalMem]:
    va = context.virtual_mem_reserve(PAGE)
    desc = ze.PhysicalMemDesc(PAGE, ze.PhysicalMemFlags(flags))
    physical = context.physical_mem_create(device, desc)
    context.virtual_mem_map(va, PAGE, physical)
    return va, physical


def unmap(context: ze.Context, va: int, physical: ze.PhysicalMem) -> None:
    context.virtual_mem_free(va, PAGE)
    context.physical_mem_destroy(physical)


def held_word(state: DriverState, value: int, timeout: float | None) -> WaitWord:
    """Return a wait for the count of a lane that nobody will raise."""
    (lane,) = state.devices[0].lanes.idle
    word: SharedWord = lane.word
    return WaitWord(0, word, value, timeout)


def test_bytes_written_through_the_device_are_read_back() -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        va, _ = mapped(context, p.driver.devices[0])

        context.memory_write(va + 7, b"hello")

        assert context.memory_read(va, 12) == bytes(7) + b"hello"


def test_two_programs_share_an_export_and_nothing_else() -> None:
    with pair(SPEC) as p:
        exporter = p.driver.create_context()
        importing = p.connect("importer")
        importer = importing.create_context()
        va, physical = mapped(exporter, p.driver.devices[0])
        exporter.memory_write(va, b"shared")
        handle = exporter.mem_get_ipc_handle(va)

        pointer = importer.mem_open_ipc_handle(importing.devices[0], handle)

        assert importer.memory_read(pointer, 6) == b"shared"
        with fails("INVALID_ARGUMENT"):
            importer.virtual_mem_free(va, PAGE)
        importer.mem_close_ipc_handle(pointer)
        exporter.mem_put_ipc_handle(handle)
        unmap(exporter, va, physical)
        p.assert_nothing_left()


def test_host_memory_is_seen_by_both_sides_without_a_copy() -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        va, _ = mapped(context, p.driver.devices[0], HOST)
        view = context.host_view(va, 8)
        view[:] = b"from cpu"

        assert context.memory_read(va, 8) == b"from cpu"
        context.memory_fill(va, b"\xaa", 8)
        assert bytes(view) == b"\xaa" * 8


def test_a_death_takes_back_what_a_program_had() -> None:
    with pair(SPEC) as p:
        before = p.statistics()
        other = p.connect("victim")
        mapped(other.create_context(), other.devices[0])
        assert p.statistics().object_count == before.object_count + 1

        other.close()

        after = p.statistics()
        assert (after.object_count, after.client_count) == (before.object_count, 1)
        assert after.free_bytes == before.free_bytes


def test_what_a_program_left_is_named() -> None:
    with pair(SPEC) as p:
        context = p.driver.create_context()
        other = p.connect("other").create_context()
        va, physical = mapped(context, p.driver.devices[0])
        number = context.physical_mem_get_properties(physical).id
        other.virtual_mem_reserve(PAGE)

        with pytest.raises(AssertionError) as caught:
            p.assert_nothing_left()

        lines = str(caught.value).splitlines()
        assert lines[1:] == [
            f"  program: reservation {va:#x} to {va + PAGE:#x}",
            f"  program: mapping {va:#x} to {va + PAGE:#x}",
            f"  program: device physical memory {number} of {PAGE:#x} bytes",
            lines[4],
        ]
        assert lines[4].startswith("  other: reservation ")


def test_what_a_driver_forgot_on_the_device_is_found() -> None:
    with pair(SPEC) as p:
        context = p.driver.create_context()
        mapped(context, p.driver.devices[0])
        state = p.driver._process.current().state
        state.physical.clear()
        state.mappings.remove(next(iter(state.mappings)).start)
        state.reservations.remove(next(iter(state.reservations)).start)

        with pytest.raises(AssertionError, match=r"device 0: .*objects=1.*objects=0"):
            p.assert_nothing_left()


def test_the_specification_says_how_many_devices_there_are() -> None:
    with pair(replace(SPEC, devices=3)) as p:
        assert len(p.driver.devices) == 3
    with pair(replace(SPEC, devices=3), devices=2) as p:
        assert len(p.driver.devices) == 2


def test_devices_differ_and_each_has_its_own_memory() -> None:
    with pair(SPEC, devices=2) as p:
        first, second = p.driver.devices
        mapped(p.driver.create_context(), second)

        assert first.get_properties().uuid != second.get_properties().uuid
        assert p.statistics(0).object_count == 0
        assert p.statistics(1).object_count == 1


@pytest.mark.parametrize("profile", ["spec", "intel"])
def test_the_profile_is_the_one_asked_for(profile: str) -> None:
    with pair(SPEC, profile=profile) as p:  # type: ignore[arg-type]
        state = p.driver._process.current().state
        assert state.profile is Profile[profile.upper()]


def test_two_runs_are_the_same() -> None:
    def run() -> tuple[object, ...]:
        with pair(SPEC) as p, p.driver.create_context() as context:
            va, _ = mapped(context, p.driver.devices[0])
            context.memory_fill(va, b"\1", PAGE)
            token = context.mem_get_ipc_handle(va)[16:]
            return p.now, p.statistics(), token[:16]

    assert run() == run()


def test_held_devices_work_when_they_are_waited_for_or_stepped() -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        va, _ = mapped(context, p.driver.devices[0])
        with p.hold():
            context.memory_fill(va, b"\1", PAGE)
            assert context.memory_read(va, 1) == b"\1"
            assert not p.step()


def test_waiting_moves_the_clock_over_latencies() -> None:
    spec = DeviceSpec(vram_size=64 << 20, latencies=Latencies(control_ticks=5_000_000))
    with pair(spec) as p:
        before = p.now
        p.driver.create_context().physical_mem_create(p.driver.devices[0], ze.PhysicalMemDesc(PAGE))
        assert p.now - before >= 5_000_000


def test_time_passes_when_it_is_told_to() -> None:
    with pair(SPEC) as p:
        before = p.now
        p.advance(1_000_000)
        assert p.now == before + 1_000_000


def test_a_wait_for_nothing_ends_at_once() -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        va, _ = mapped(context, p.driver.devices[0])
        context.memory_fill(va, b"\1", PAGE)
        runner = p.driver._process.current().runner
        state = p.driver._process.current().state

        async def wait(seconds: float | None) -> object:
            return await held_word(state, 1 << 40, seconds)

        with pytest.raises(Stuck, match="is waited for, and no device has anything to do"):
            runner.run(wait(None))
        before = p.now
        waited = runner.run(wait(0.5))
        assert p.now == before + 500_000_000
        assert waited == runner.run(wait(0))
        # The driver is as usable as before.
        assert context.memory_read(va, 1) == b"\1"


def test_a_lost_device_is_said_so() -> None:
    with pair(SPEC) as p:
        context = p.driver.create_context()
        p.device.reset(p.now)

        with fails("DEVICE_LOST"):
            context.physical_mem_create(p.driver.devices[0], ze.PhysicalMemDesc(PAGE))


def test_the_device_may_take_no_more_programs() -> None:
    with pair(DeviceSpec(vram_size=64 << 20, max_clients=1)) as p, fails("NOT_AVAILABLE"):
        p.connect()


def test_nothing_stays_open_in_the_process() -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only

    before = descriptors()
    with pair(SPEC) as p, p.driver.create_context() as context:
        va, _ = mapped(context, p.driver.devices[0], HOST)
        context.mem_get_ipc_handle(va)
    assert descriptors() == before


def test_a_child_after_fork_is_told_that_it_has_no_devices() -> None:
    with pair(SPEC) as p:
        context = p.driver.create_context()
        child = os.fork()
        if not child:
            status = 1
            try:
                context.virtual_mem_reserve(PAGE)
            except ze.ZeError as error:
                status = 0 if "after a fork" in error.description else 2
            finally:
                os._exit(status)
        _, ended = os.waitpid(child, 0)

        assert os.waitstatus_to_exitcode(ended) == 0
        # The parent noticed nothing.
        context.virtual_mem_free(context.virtual_mem_reserve(PAGE), PAGE)
        p.assert_nothing_left()


def test_devices_may_differ() -> None:
    with pair([SPEC, replace(SPEC, name="the other", vram_size=32 << 20)]) as p:
        memories = [device.get_memory_properties()[0] for device in p.driver.devices]

        assert [memory.total_size for memory in memories] == [64 << 20, 32 << 20]
        assert p.driver.devices[1].get_properties().name == "the other"


def test_an_error_of_the_test_is_not_hidden_by_a_leak() -> None:
    def fail(p: Pair) -> None:
        mapped(p.driver.create_context(), p.driver.devices[0])
        raise KeyError("of the test")

    with pytest.raises(KeyError), pair(SPEC) as p:
        fail(p)


def test_a_fault_is_the_programs_error_and_leaves_nothing() -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        with fails("DEVICE_LOST", "0x1000", "nothing is mapped there"):
            context.memory_read(0x1000, 4)
        p.assert_nothing_left()


def test_what_waits_in_a_driver_ends_with_it() -> None:
    with pair(SPEC) as p:
        context, device = p.driver.create_context(), p.driver.devices[0]
        pool = context.event_pool_create(ze.EventPoolDesc(2, ze.EventPoolFlags.IPC))
        gate, end = (pool.event_create(ze.EventDesc(index)) for index in range(2))
        peer = p.connect("peer").create_context()
        seen = peer.event_pool_open_ipc_handle(pool.get_ipc_handle()).event_create(ze.EventDesc(1))
        for _ in range(2):
            commands = context.command_list_create_immediate(device)
            commands.append_wait_on_events([gate])
            for _ in range(2 * STREAM_ENTRIES):
                commands.append_barrier()
            commands.append_signal_event(end)
            # The first of them has begun to wait when the second begins.
            assert not end.is_signalled()

        p.driver.close()

        with fails("DEVICE_LOST", "will not be signalled"):
            seen.host_synchronize()
