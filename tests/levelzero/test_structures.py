"""Numbers of the specification, written down a second time; and every one that is accepted."""

from dataclasses import fields

import pytest

from hostdriver.api import exporting, mapping, virtual_memory
from hostdriver.api.structures import (
    IpcMemHandleTypeExtDesc,
    IpcPhysMemHandleRangeExtDesc,
    PhysicalMemDesc,
)
from hostdriver.core.enums import IpcMemHandleTypeFlags, MemoryAccessAttribute, StructureType
from tests.harness.fake_session import FakeSession
from tests.harness.levelzero import PAGE, fails, mapped, physical, reserve


@pytest.mark.sentence("RANGE-40", "HANDLETYPE-07", "MEMMAP-11", "FREE-12")
@pytest.mark.sentence("LIMITS-06", "COMPRESS-05")
@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("IPC_PHYS_MEM_HANDLE_RANGE_EXT_DESC", 0x2004B),
        ("IPC_MEM_HANDLE_TYPE_EXT_DESC", 0x2003D),
        ("EXTERNAL_MEMMAP_SYSMEM_EXT_DESC", 0x20037),
        ("MEMORY_FREE_EXT_DESC", 0x1000A),
        ("RELAXED_ALLOCATION_LIMITS_EXT_DESC", 0x10016),
        ("MEMORY_COMPRESSION_HINTS_EXT_DESC", 0x1000B),
    ],
)
def test_tags_are_the_specifications(name: str, tag: int) -> None:
    assert StructureType[name] == tag


def test_each_descriptor_carries_its_own_tag() -> None:
    assert IpcPhysMemHandleRangeExtDesc(1).stype == 0x2004B
    assert IpcMemHandleTypeExtDesc().stype == 0x2003D


@pytest.mark.sentence("HANDLETYPE-05")
def test_kinds_of_handle_are_two_bits() -> None:
    assert {flag.name: flag.value for flag in IpcMemHandleTypeFlags} == {
        "DEFAULT": 1,
        "FABRIC_ACCESSIBLE": 2,
    }


@pytest.mark.sentence("HANDLETYPE-01")
def test_default_kind_of_handle_is_the_plain_one(session: FakeSession) -> None:
    state = session.state()
    va = mapped(session, state)
    plain = session.run(exporting.get_handle(state, va))

    for flags in (IpcMemHandleTypeFlags(0), IpcMemHandleTypeFlags.DEFAULT):
        chain = [IpcMemHandleTypeExtDesc(flags)]
        assert session.run(exporting.get_handle(state, va, chain)) == plain
    assert state.note == ""


@pytest.mark.error("VirtualMemMap", "UE")
@pytest.mark.error("VirtualMemSetAccessAttribute", "UE")
@pytest.mark.parametrize("access", [0, 1, 2])
def test_every_access_of_the_specification_is_supported(session: FakeSession, access: int) -> None:
    state = session.state()
    va = reserve(session, state, PAGE)
    source = physical(session, state, PAGE)

    session.run(mapping.map_memory(state, va, PAGE, source, 0, access))
    assert virtual_memory.get_access(state, va, PAGE).access == access
    for other in MemoryAccessAttribute:
        session.run(virtual_memory.set_access(state, va, PAGE, other))
    session.run(virtual_memory.set_access(state, va, PAGE, access))

    assert virtual_memory.get_access(state, va, PAGE).access == access


@pytest.mark.error("PhysicalMemCreate", "UA")
def test_nothing_that_makes_physical_memory_has_an_alignment() -> None:
    assert [field.name for field in fields(PhysicalMemDesc)] == ["size", "flags", "p_next"]


@pytest.mark.error("MemGetIpcHandle", "NP")
@pytest.mark.parametrize("null", [None, 0])
def test_null_pointer_has_no_handle(session: FakeSession, null: int | None) -> None:
    with fails("INVALID_NULL_POINTER"):
        session.run(exporting.get_handle(session.state(), null))


@pytest.mark.decision("C27", profile="both")
@pytest.mark.parametrize("profile", [0, 1])
def test_wished_address_that_became_free_is_given_again(session: FakeSession, profile: int) -> None:
    state = session.state(profile=profile)
    va = mapped(session, state)
    session.run(virtual_memory.free(state, va, PAGE))

    assert reserve(session, state, PAGE, va) == va
