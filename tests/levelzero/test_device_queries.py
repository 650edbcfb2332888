"""What a device says of itself."""

import time
from dataclasses import replace

import pytest

from firmware.abi.extensions import Extension
from hostdriver import levelzero as ze
from hostdriver.testing.pair import DeviceSpec, Pair, pair
from tests.harness.levelzero import PAGE, fails

SPEC = DeviceSpec(vram_size=64 << 20)
GROUP = ze.CommandQueueGroupPropertyFlags


def device_of(p: Pair) -> ze.Device:
    return p.driver.devices[0]


def free_bytes(device: ze.Device) -> int:
    (found,) = device.get_properties([ze.DeviceUsablememSizeExtProperties]).p_next
    assert isinstance(found, ze.DeviceUsablememSizeExtProperties)
    return found.curr_usable_mem_size


def test_properties_are_those_of_the_specification() -> None:
    spec = replace(SPEC, name="a GPU", vendor_id=0x1234, device_id=0x5678, core_clock_mhz=777)
    with pair(spec) as p:
        found = device_of(p).get_properties()

    assert (found.name, found.vendor_id, found.device_id) == ("a GPU", 0x1234, 0x5678)
    assert (found.type, found.core_clock_rate) == (ze.DeviceType.GPU, 777)
    assert found.max_mem_alloc_size == 64 << 20
    assert found.flags == ze.DevicePropertyFlags.ECC
    assert (found.timer_resolution, found.timestamp_valid_bits) == (1_000_000_000, 64)


def test_structures_come_in_the_order_in_which_they_were_asked_for() -> None:
    spec = replace(SPEC, ip_version=0x0500_4000)
    asked: list[type[ze.ChainedProperties]] = [
        ze.DeviceReadonlyMemoryExtProperties,
        ze.DeviceIpVersionExt,
    ]
    with pair(spec) as p:
        readonly, version = device_of(p).get_properties(asked).p_next

    assert version == ze.DeviceIpVersionExt(ip_version=0x0500_4000)
    enforced = ze.DeviceReadonlyMemoryCapability.ENFORCED
    assert readonly == ze.DeviceReadonlyMemoryExtProperties(readonly_capability=enforced)
    assert enforced == 2


def test_structures_of_extensions_that_are_off_are_unknown() -> None:
    with pair(replace(SPEC, extensions=Extension(0))) as p:
        device = device_of(p)
        assert device.get_properties([ze.DeviceIpVersionExt]).p_next == []
        assert "0x1000f" in p.driver.get_last_error_description()
        (memory,) = device.get_memory_properties([ze.DeviceMemoryExtProperties])
        assert memory.p_next == []
    with (
        pair(replace(SPEC, extensions=Extension(0)), profile="intel") as p,
        fails("UNSUPPORTED_ENUMERATION"),
    ):
        device_of(p).get_properties([ze.DeviceUsablememSizeExtProperties])


@pytest.mark.decision("PAGE-03")
def test_free_and_total_memory_are_exact() -> None:
    with pair(SPEC) as p, p.driver.create_context() as context:
        device = device_of(p)
        (memory,) = device.get_memory_properties([ze.DeviceMemoryExtProperties])
        before = free_bytes(device)
        physical = context.physical_mem_create(device, ze.PhysicalMemDesc(5 * PAGE))

        assert memory.total_size == 64 << 20
        (built,) = memory.p_next
        assert isinstance(built, ze.DeviceMemoryExtProperties)
        assert built.physical_size == 64 << 20
        assert before - free_bytes(device) == 5 * PAGE
        assert p.statistics().free_bytes == free_bytes(device)
        context.physical_mem_destroy(physical)
        assert free_bytes(device) == before


def test_free_memory_is_that_of_all_programs() -> None:
    with pair(SPEC) as p:
        device = device_of(p)
        other = p.connect()
        before = free_bytes(device)
        other.create_context().physical_mem_create(other.devices[0], ze.PhysicalMemDesc(PAGE))
        assert before - free_bytes(device) == PAGE


def test_memory_is_built_as_the_specification_says() -> None:
    spec = replace(SPEC, memory_bus_width=1024, memory_clock_mhz=2000)
    with pair(spec) as p:
        (memory,) = device_of(p).get_memory_properties([ze.DeviceMemoryExtProperties])

    assert (memory.max_bus_width, memory.max_clock_rate) == (1024, 2000)
    (built,) = memory.p_next
    assert isinstance(built, ze.DeviceMemoryExtProperties)
    assert built.bandwidth_unit is ze.BandwidthUnit.BYTES_PER_NANOSEC
    assert built.read_bandwidth == 256


@pytest.mark.sentence("MEMMAP-29")
def test_queue_groups_say_which_ordinal_can_compute() -> None:
    with pair(replace(SPEC, compute_engines=3, copy_engines=2)) as p:
        compute, copy = device_of(p).get_command_queue_group_properties()

    assert compute.flags == GROUP.COMPUTE | GROUP.COPY
    assert compute.num_queues == 3
    assert copy.flags == GROUP.COPY
    assert (copy.num_queues, copy.max_memory_fill_pattern_size) == (2, 1024)


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({"copy_group": False}, [GROUP.COMPUTE | GROUP.COPY]),
        ({"compute_engines": 0}, [GROUP.COPY]),
        ({"compute_engines": 0, "copy_group": False}, [GROUP.COPY]),
    ],
)
def test_groups_are_configured(changes: dict[str, int], flags: list[GROUP]) -> None:
    spec = DeviceSpec(vram_size=64 << 20, **changes)  # type: ignore[arg-type]
    with pair(spec) as p:
        groups = device_of(p).get_command_queue_group_properties()

    assert [group.flags for group in groups] == flags


def test_memory_of_the_host_is_shared_at_once_and_the_applications_own_is_not() -> None:
    with pair(SPEC) as p:
        access = device_of(p).get_memory_access_properties()

    both = ze.MemoryAccessCapFlags.RW | ze.MemoryAccessCapFlags.CONCURRENT
    assert access.host_alloc_capabilities == both
    assert access.shared_single_device_alloc_capabilities == both
    assert access.shared_cross_device_alloc_capabilities == both
    assert access.device_alloc_capabilities == ze.MemoryAccessCapFlags.RW
    assert access.shared_system_alloc_capabilities == 0


def test_start_up_probes_are_answered() -> None:
    with pair(replace(SPEC, cache_size=4 << 20)) as p:
        device = device_of(p)

        assert device.get_cache_properties()[0].cache_size == 4 << 20
        assert device.get_compute_properties().max_total_group_size == 1024
        assert device.get_module_properties().spirv_version_supported == 0
        assert device.get_image_properties().max_image_dims_2d == 0
        assert device.get_sub_devices() == ()
        assert device.get_root_device() is None
    with pair(replace(SPEC, cache_size=0)) as p:
        assert device_of(p).get_cache_properties() == []


def test_descriptors_of_memory_can_be_taken_and_given() -> None:
    with pair(SPEC) as p:
        found = device_of(p).get_external_memory_properties()

    wanted = ze.ExternalMemoryTypeFlags.OPAQUE_FD | ze.ExternalMemoryTypeFlags.DMA_BUF
    assert found.memory_allocation_import_types == wanted
    assert found.memory_allocation_export_types == wanted
    assert found.image_import_types == 0


def test_place_on_the_bus() -> None:
    with pair(replace(SPEC, pci_address="0001:4a:1f.3"), devices=2) as p:
        found = [device.pci_get_properties_ext().address for device in p.driver.devices]

    assert found == [(1, 0x4A, 0x1F, 3), (1, 0x4B, 0x1F, 3)]
    with (
        pair(replace(SPEC, extensions=Extension(0))) as p,
        fails("UNSUPPORTED_FEATURE", "pci_properties"),
    ):
        device_of(p).pci_get_properties_ext()


def test_clocks_of_host_and_device_go_on() -> None:
    with pair(SPEC) as p:
        device = device_of(p)
        before = time.monotonic_ns()
        first = device.get_global_timestamps()
        p.advance(1_000_000)
        second = device.get_global_timestamps()

        assert before <= first.host <= second.host <= time.monotonic_ns()
        assert second.device - first.device >= 1_000_000


def test_status_of_a_device_that_was_reset() -> None:
    with pair(SPEC) as p:
        device = device_of(p)
        assert device.get_status() is ze.ZeResult.ZE_RESULT_SUCCESS

        p.device.reset(p.now)

        assert device.get_status() is ze.ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
        with fails("DEVICE_LOST"):
            device.get_global_timestamps()
