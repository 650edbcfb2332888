"""Structures of the interface and the driver's descriptors: the same names, the same values."""

from hostdriver.api.memory_structures import DeviceMemAllocDesc
from hostdriver.api.structures import (
    IpcPhysMemHandleRangeExtDesc,
    PhysicalMemProperties,
    UnknownDesc,
)
from hostdriver.channel.convert import chain, descriptor, fill
from hostdriver.channel.items import Reader
from hostdriver.channel.specs import interface
from hostdriver.channel.structures import Structure, read_structure
from hostdriver.core.enums import StructureType

RANGE = StructureType.IPC_PHYS_MEM_HANDLE_RANGE_EXT_DESC


def structure(name: str, **values: int) -> Structure:
    spec = interface().structures[name]
    members: dict[str, int | bytes] = {each.name: 0 for each in spec.fields}
    return Structure(spec.stype, spec, {**members, **values})


def test_a_descriptor_takes_what_stands_in_the_structure() -> None:
    desc = structure("ze_device_mem_alloc_desc_t", flags=2, ordinal=3)
    desc.chain = [Structure(0x1234, None)]

    found = descriptor(DeviceMemAllocDesc, desc)

    assert (found.flags, found.ordinal) == (2, 3)
    assert list(found.p_next) == [UnknownDesc(0x1234)]


def test_known_links_of_a_chain_become_descriptors_that_calls_recognise() -> None:
    (found,) = chain([structure("ze_ipc_phys_mem_handle_range_ext_desc_t", size=77)])

    assert isinstance(found, IpcPhysMemHandleRangeExtDesc)
    assert (found.stype, found.size) == (RANGE, 77)


def test_properties_fill_members_of_the_same_name() -> None:
    name = "ze_physical_mem_properties_t"
    target = read_structure(Reader(bytes(interface().structures[name].size + 8)), name)

    fill(target, PhysicalMemProperties(id=9, size=4096))

    assert (target.values["id"], target.values["size"]) == (9, 4096)
