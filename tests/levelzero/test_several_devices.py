"""Several devices, sub-devices, and contexts over them."""

from dataclasses import replace

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import DeviceSpec, pair
from tests.harness.levelzero import PAGE, fails

SPEC = DeviceSpec(vram_size=64 << 20)
TILED = replace(SPEC, sub_devices=2)


def test_every_device_and_sub_device_has_an_identity_of_its_own() -> None:
    with pair(TILED, devices=2) as p:
        devices = p.driver.devices
        parts = [part for device in devices for part in device.get_sub_devices()]
        found = {one.get_properties().uuid for one in (*devices, *parts)}

        assert (len(devices), len(parts), len(found)) == (2, 4, 6)
        again = p.connect().devices[1].get_sub_devices()[1]
        assert again.get_properties().uuid == parts[3].get_properties().uuid


def test_sub_device_knows_its_device() -> None:
    with pair(TILED) as p:
        (device,) = p.driver.devices
        first, second = device.get_sub_devices()

        assert second.get_root_device() is device
        assert device.get_root_device() is None
        assert first.get_sub_devices() == ()
        properties = second.get_properties()
        assert properties.subdevice_id == 1
        assert ze.DevicePropertyFlags.SUBDEVICE in properties.flags
        assert ze.DevicePropertyFlags.SUBDEVICE not in device.get_properties().flags
        assert repr(second).startswith("<Device 0.1")


def test_memory_of_a_sub_device_is_its_devices() -> None:
    with pair(TILED) as p, p.driver.create_context() as context:
        part = p.driver.devices[0].get_sub_devices()[1]
        va = context.virtual_mem_reserve(PAGE)
        physical = context.physical_mem_create(part, ze.PhysicalMemDesc(PAGE))
        context.virtual_mem_map(va, PAGE, physical)
        context.memory_write(va, b"tile")

        assert context.memory_read(va, 4) == b"tile"
        assert part.get_memory_properties()[0].total_size == 64 << 20


def test_peers_reach_each_other_inside_a_device_only() -> None:
    with pair(TILED, devices=2) as p:
        one, other = p.driver.devices
        first, second = one.get_sub_devices()

        assert first.can_access_peer(second)
        assert first.get_p2p_properties(second).flags == 3
        assert not one.can_access_peer(other)
        assert one.get_p2p_properties(other).flags == 0
        with fails("INVALID_NULL_HANDLE", "hPeerDevice"):
            one.can_access_peer(None)
        with fails("INVALID_NULL_HANDLE", "hPeerDevice"):
            one.get_p2p_properties(None)


@pytest.mark.case("A06")
def test_a_peer_out_of_reach_does_not_keep_memory_from_being_allocated() -> None:
    with pair(SPEC, devices=2) as p:
        first, second = p.driver.devices
        assert not first.can_access_peer(second)
        context = p.driver.create_context_ex(devices=[first, second])
        pointers = [context.mem_alloc_device(one, PAGE) for one in (first, second)]
        for number, pointer in enumerate(pointers):
            context.memory_fill(pointer, bytes([number + 1]), PAGE)
        for number, pointer in enumerate(pointers):
            assert context.memory_read(pointer, 2) == bytes([number + 1] * 2)
            context.mem_free(pointer)
        p.assert_nothing_left()


def test_environment_chooses_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    with pair(TILED, devices=2) as p:
        monkeypatch.setenv("ZE_AFFINITY_MASK", "1")
        (device,) = p.connect().devices
        assert device.get_properties().uuid == p.driver.devices[1].get_properties().uuid
        context = device.driver.create_context()
        pointer = context.mem_alloc_device(device, PAGE)
        assert p.statistics(1).object_count == 1
        assert p.statistics(0).object_count == 0
        context.mem_free(pointer)
        assert device.driver.device_of(1) is device
        with fails("INVALID_ARGUMENT", "hides device 0"):
            device.driver.device_of(0)


def test_flat_hierarchy_has_no_way_to_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZE_FLAT_DEVICE_HIERARCHY", "FLAT")
    with pair(TILED, devices=2) as p:
        assert len(p.driver.devices) == 4
        for device in p.driver.devices:
            assert device.get_root_device() is None
            assert device.get_sub_devices() == ()
            assert ze.DevicePropertyFlags.SUBDEVICE not in device.get_properties().flags


def test_combined_hierarchy_has_the_way_there_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZE_FLAT_DEVICE_HIERARCHY", "COMBINED")
    monkeypatch.setenv("ZE_AFFINITY_MASK", "0,1,3")
    with pair(TILED, devices=2) as p:
        first, second, fourth = p.driver.devices
        root = first.get_root_device()

        assert root is not None
        assert root is second.get_root_device()
        assert root.get_sub_devices() == (first, second)
        assert root is not fourth.get_root_device()


def test_mask_that_leaves_nothing_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZE_AFFINITY_MASK", "5")
    with fails("UNINITIALIZED", "ZE_AFFINITY_MASK"), pair(SPEC) as p:
        p.connect()


def test_context_of_one_device_refuses_another() -> None:
    with pair(SPEC, devices=2) as p:
        first, second = p.driver.devices
        context = p.driver.create_context_ex(devices=[first])

        context.mem_free(context.mem_alloc_device(first, PAGE))
        with fails("INVALID_ARGUMENT", "Device 1", "not one of the devices"):
            context.mem_alloc_device(second, PAGE)
        assert "not one of the devices" in p.driver.get_last_error_description()


def test_device_of_another_driver_is_refused() -> None:
    with pair(SPEC) as p:
        foreign = p.connect().devices[0]
        with fails("INVALID_ARGUMENT", "another driver"):
            p.driver.create_context_ex(devices=[foreign])
        with fails("INVALID_ARGUMENT", "not one of the devices"):
            p.driver.create_context().mem_alloc_device(foreign, PAGE)


@pytest.mark.error("ContextCreateEx", "NP", "IE", "UE")
def test_context_of_devices_is_checked() -> None:
    with pair(SPEC) as p:
        with fails("INVALID_NULL_HANDLE", "hDevice"):
            p.driver.create_context_ex(devices=[None])
        with fails("INVALID_NULL_POINTER", "desc"):
            p.driver.create_context_ex(None)
        with fails("INVALID_ENUMERATION", "flags"):
            p.driver.create_context_ex(ze.ContextDesc(ze.ContextFlags(2)))
        p.driver.create_context_ex(ze.ContextDesc(ze.ContextFlags.TBD)).destroy()


def test_default_context_is_always_there() -> None:
    with pair(SPEC) as p:
        context = p.driver.get_default_context()
        assert context is p.driver.get_default_context()
        with fails("INVALID_ARGUMENT", "default context"):
            context.destroy()
        with context:
            context.mem_free(context.mem_alloc_host(PAGE))
        assert context.get_status() is ze.ZeResult.ZE_RESULT_SUCCESS


@pytest.mark.decision("FAULT-04")
@pytest.mark.error("ContextGetStatus", "DL")
def test_status_after_a_fault_is_the_contexts_and_not_the_devices() -> None:
    with pair(SPEC) as p:
        context, other = p.driver.create_context(), p.driver.create_context()
        pointer = context.mem_alloc_device(p.driver.devices[0], PAGE)
        with fails("DEVICE_LOST"):
            context.memory_read(0x1000, 4)

        assert context.get_status() is ze.ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
        assert other.get_status() is ze.ZeResult.ZE_RESULT_SUCCESS
        assert p.driver.devices[0].get_status() is ze.ZeResult.ZE_RESULT_SUCCESS
        context.memory_write(pointer, b"usable")
        context.mem_free(pointer)


def test_barrier_of_the_system_is_there_for_devices_of_the_context() -> None:
    with pair(SPEC, devices=2) as p:
        first, second = p.driver.devices
        context = p.driver.create_context_ex(devices=[first])
        context.system_barrier(first)
        with fails("INVALID_ARGUMENT"):
            context.system_barrier(second)
        with fails("INVALID_NULL_HANDLE", "hDevice"):
            context.system_barrier(None)


def test_status_of_a_context_whose_device_is_lost() -> None:
    with pair(SPEC, devices=2) as p:
        first, second = p.driver.devices
        contexts = [p.driver.create_context_ex(devices=[one]) for one in (first, second)]
        p.devices[1].reset(p.now)

        assert [context.get_status().name for context in contexts] == [
            "ZE_RESULT_SUCCESS",
            "ZE_RESULT_ERROR_DEVICE_LOST",
        ]
