"""What the driver says of itself."""

from dataclasses import replace
from typing import TypeAlias

import pytest

from firmware.abi.extensions import EXTENSIONS_BY_NAME, Extension
from hostdriver import levelzero as ze
from hostdriver.testing.pair import DeviceSpec, pair
from tests.harness.levelzero import fails

SPEC = DeviceSpec(vram_size=64 << 20)
V1_0 = 0x10000
Chain: TypeAlias = list[type[ze.ChainedProperties] | ze.UnknownDesc]


def extensions(driver: ze.Driver) -> dict[str, int]:
    return {one.name: one.version for one in driver.get_extension_properties()}


@pytest.mark.sentence("API-01")
def test_version_is_the_one_with_everything_here() -> None:
    with pair(SPEC) as p:
        assert p.driver.get_api_version() == 1 << 16 | 18
        assert p.driver.get_api_version() is ze.ApiVersion.VERSION_1_18


@pytest.mark.sentence("RANGE-06", "MEMMAP-08", "MEMMAP-09")
def test_extensions_are_listed_by_name_with_their_version() -> None:
    with pair(SPEC) as p:
        listed = extensions(p.driver)

    assert listed["ZE_extension_ipc_phys_mem_handle_range"] == V1_0
    assert listed["ZE_extension_external_memmap_sysmem"] == V1_0
    assert list(listed) == sorted(listed)
    assert set(listed) <= set(EXTENSIONS_BY_NAME)


def test_what_the_device_does_not_offer_is_not_listed() -> None:
    spec = replace(SPEC, extensions=Extension.EXT_IPC_MEM_HANDLE_TYPE)
    with pair(spec) as p:
        assert list(extensions(p.driver)) == ["ZE_extension_ipc_mem_handle_type"]


def test_what_the_environment_switches_off_is_not_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pair(SPEC) as p:
        all_of_them = set(extensions(p.driver))
        monkeypatch.setenv("EMUZERO_DISABLE_EXTENSIONS", "ZE_extension_memory_free_policies")

        assert all_of_them - set(extensions(p.connect())) == {"ZE_extension_memory_free_policies"}


def test_driver_has_an_identity_and_a_version() -> None:
    with pair(SPEC) as p:
        one, other = p.driver.get_properties(), p.connect().get_properties()

    assert one == other
    assert len(one.uuid) == 16
    assert any(one.uuid)
    assert one.driver_version > 0
    assert one.p_next == []


def test_free_policies_are_told_when_they_are_asked_for() -> None:
    with pair(SPEC) as p:
        (found,) = p.driver.get_properties([ze.DriverMemoryFreeExtProperties]).p_next

    assert isinstance(found, ze.DriverMemoryFreeExtProperties)
    assert found.free_policies == 3
    assert found.stype == 0x10009


def test_handles_in_c_begin_with_their_tables() -> None:
    with pair(SPEC) as p:
        (found,) = p.driver.get_properties([ze.DriverDdiHandlesExtProperties]).p_next

        assert found == ze.DriverDdiHandlesExtProperties(
            flags=ze.DriverDdiHandleExtFlags.DDI_HANDLE_EXT_SUPPORTED
        )
        assert extensions(p.driver)["ZE_extension_driver_ddi_handles"] == 0x10001


def test_memory_and_event_pools_may_be_shared_between_processes() -> None:
    with pair(SPEC) as p:
        wanted = ze.IpcPropertyFlags.MEMORY | ze.IpcPropertyFlags.EVENT_POOL
        assert p.driver.get_ipc_properties().flags == wanted


@pytest.mark.decision("C18", profile="both")
def test_unknown_structure_is_ignored_by_one_profile_and_refused_by_the_other() -> None:
    chain: Chain = [ze.UnknownDesc(0x3001B), ze.DriverMemoryFreeExtProperties]
    with pair(SPEC) as p:
        assert len(p.driver.get_properties(chain).p_next) == 1
        assert "0x3001b" in p.driver.get_last_error_description()
    with pair(SPEC, profile="intel") as p, fails("UNSUPPORTED_ENUMERATION", "0x3001b"):
        p.driver.get_properties(chain)


def test_structure_of_another_call_is_unknown_here() -> None:
    with pair(SPEC) as p:
        assert p.driver.get_properties([ze.DeviceIpVersionExt]).p_next == []
        assert "0x1000f" in p.driver.get_last_error_description()
