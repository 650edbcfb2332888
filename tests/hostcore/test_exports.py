"""The table of what this process exports."""

import pytest

from firmware.abi.ipc import ExportKind
from hostdriver.core.exports import ExportTable, OwnExport
from hostdriver.core.ipc import Named, build_handle, build_ticket
from hostdriver.core.physical import Mapping, PhysicalKind, PhysicalObject
from hostdriver.core.questions import TicketFile

PHYSICAL = PhysicalObject(id=1, device=0, kind=PhysicalKind.DEVICE, object_id=1, size=1 << 20)


def export(number: int, mapping: Mapping | None = None) -> OwnExport:
    named = Named(
        token=bytes([number]) * 16,
        kind=ExportKind.RANGE,
        device=0,
        emulator_id=1,
        offset=0,
        size=4096,
    )
    ticket = TicketFile(50 + number, (7, number), build_ticket(named))
    return OwnExport(named, build_handle(named, ticket.descriptor, 1), ticket, mapping)


def test_export_is_found_by_its_handle_until_it_is_discarded() -> None:
    table = ExportTable()
    one, two = export(1), export(2)
    table.add(one)
    table.add(two)

    assert table.of_handle(one.handle) is one
    assert table.owns((7, 2))
    table.check()

    table.discard(one)
    table.discard(one)
    assert table.of_handle(one.handle) is None
    assert not table.owns((7, 1))
    assert len(table) == 1
    table.check()


def test_export_is_found_by_its_descriptor_alone() -> None:
    table = ExportTable()
    one = export(1)
    table.add(one)

    assert table.of_handle(one.handle[:4] + bytes(60)) is one
    assert table.of_handle((99).to_bytes(4, "little") + bytes(60)) is None


def test_descriptor_is_no_excuse_for_other_bytes() -> None:
    table = ExportTable()
    table.add(export(1))

    assert table.of_handle(export(1).handle[:4] + b"\x11" * 60) is None


def test_mapping_has_one_export() -> None:
    table = ExportTable()
    mapping = Mapping(0x1000, 0x1000, PHYSICAL, 0)
    one = export(1, mapping)
    table.add(one)

    assert table.of_source(mapping) is one
    table.discard(one)
    assert table.of_source(mapping) is None


def test_the_number_of_a_file_that_went_with_its_memory_names_what_has_it_now() -> None:
    table = ExportTable()
    mapping = Mapping(0x1000, 0x1000, PHYSICAL, 0)
    old, new = export(1, mapping), export(2)
    old.carries_memory = True
    new.ticket = TicketFile(old.ticket.descriptor, (7, 9), b"")
    number = old.handle[:4] + bytes(60)
    table.add(old)

    table.lose_file(mapping)
    table.add(new)

    assert table.of_handle(number) is new
    assert table.of_handle(old.handle) is old
    assert not table.owns((7, 1))
    table.check()
    table.discard(new)
    assert table.of_handle(number) is old
    table.discard(old)
    assert table.of_handle(number) is None
    table.check()


@pytest.mark.parametrize("change", ["uses", "mapping", "ticket"])
def test_check_finds_what_is_wrong(change: str) -> None:
    table = ExportTable()
    one = export(1, Mapping(0x1000, 0x1000, PHYSICAL, 0))
    table.add(one)
    match change:
        case "uses":
            one.uses = 0
        case "mapping":
            table._by_token.clear()
        case _:
            table._by_identity.clear()

    with pytest.raises(AssertionError):
        table.check()
