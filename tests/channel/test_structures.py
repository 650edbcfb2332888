"""Structures of calls: values by the specification's names, chains in their order."""

import pytest

from hostdriver.channel.items import MalformedMessageError, Reader, Writer
from hostdriver.channel.specs import interface
from hostdriver.channel.structures import (
    MOST_LINKS,
    read_chain,
    read_structure,
    write_structure,
)
from hostdriver.core.enums import StructureType

DEVICE_DESC = "ze_device_mem_alloc_desc_t"
DRIVER_TAG = 0x16


def link(tag: int, data: bytes) -> bytes:
    writer = Writer()
    writer.number(tag | len(data) << 32)
    writer.raw(data)
    return writer.message()


def test_a_structure_has_its_values_by_name_and_its_chain_in_order() -> None:
    spec = interface().structures[DEVICE_DESC]
    data = bytearray(spec.size)
    data[16:24] = (5).to_bytes(4, "little") + (7).to_bytes(4, "little")
    handle_type = int(StructureType.IPC_MEM_HANDLE_TYPE_EXT_DESC)
    chained = bytes(16) + (2).to_bytes(4, "little") + bytes(4)
    message = bytes(data) + link(handle_type, chained) + link(0x20001234, b"") + bytes(8)

    structure = read_structure(Reader(message), DEVICE_DESC)

    assert (structure.number("flags"), structure.number("ordinal")) == (5, 7)
    assert [each.stype for each in structure.chain] == [handle_type, 0x20001234]
    assert structure.chain[0].number("typeFlags") == 2
    assert structure.chain[1].spec is None


@pytest.mark.parametrize(("tag", "kept"), [(3, 3), (0x20006, 0x20006), (0, 3), (0x16, 3)])
def test_a_structure_with_two_tags_keeps_the_one_that_was_meant(tag: int, kept: int) -> None:
    spec = interface().structures["ze_device_properties_t"]
    data = tag.to_bytes(4, "little").ljust(spec.size, b"\0")

    assert read_structure(Reader(data + bytes(8)), spec.name).stype == kept


def test_a_filled_structure_is_written_where_its_members_stand() -> None:
    name = "ze_driver_extension_properties_t"
    spec = interface().structures[name]
    structure = read_structure(Reader(bytes(spec.size)), name)
    structure.fill(name="ZE_extension_x", version=0x10000)
    writer = Writer()

    write_structure(writer, structure)

    assert writer.message().startswith(b"ZE_extension_x\0")
    assert writer.message()[256:260] == (0x10000).to_bytes(4, "little")
    with pytest.raises(KeyError, match="nonsense"):
        structure.fill(nonsense=1)


def test_a_chain_of_another_size_or_without_end_is_refused() -> None:
    handle_type = int(StructureType.IPC_MEM_HANDLE_TYPE_EXT_DESC)

    with pytest.raises(MalformedMessageError):
        read_chain(Reader(link(handle_type, bytes(8)) + bytes(8)))
    with pytest.raises(MalformedMessageError):
        read_chain(Reader(link(0x20001234, b"") * (MOST_LINKS + 1) + bytes(8)))
    with pytest.raises(MalformedMessageError):
        read_chain(Reader(link(0x20001234, b"")))


def test_the_layout_of_every_structure_lies_within_its_size() -> None:
    for spec in interface().structures.values():
        for field in spec.fields:
            assert field.offset >= 0
            assert field.offset + field.size <= spec.size
            assert not spec.is_tagged or field.offset >= DRIVER_TAG - 6
