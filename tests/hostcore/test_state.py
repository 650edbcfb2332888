"""The books of one process."""

import pytest

from firmware.abi.control import SpaceCreate
from firmware.abi.extensions import Extension
from firmware.abi.ipc import ExportKind
from firmware.abi.status import Status
from hostdriver.core.exports import OwnExport
from hostdriver.core.ipc import Named
from hostdriver.core.physical import Mapping, PhysicalKind, PhysicalObject
from hostdriver.core.questions import CloseDescriptor, DropTicket, TicketFile
from hostdriver.core.reservations import Reservation
from hostdriver.core.results import Refusal
from hostdriver.core.state import DeviceFacts, DriverState, ProcessFacts, Profile, begin, finish
from tests.harness.fake_session import FakeSession, spec_block, superblock

NOTHING = Extension(0)
RANGE = Extension.EXT_IPC_PHYS_MEM_HANDLE_RANGE


def facts(disabled: Extension = NOTHING) -> ProcessFacts:
    device = DeviceFacts(superblock=superblock(), spec=spec_block())
    return ProcessFacts(pid=1, devices=(device, device), arena=None, disabled_extensions=disabled)


def test_every_device_gets_one_address_space() -> None:
    session = FakeSession()

    state = session.run(begin(facts()))

    assert [device.index for device in state.devices] == [0, 1]
    assert [question.device for question in session.asked] == [0, 1]  # type: ignore[union-attr]
    assert len(session.commands(SpaceCreate)) == 2
    assert state.arena is None


def test_device_without_room_for_an_address_space_refuses() -> None:
    session = FakeSession()
    session.refuse(SpaceCreate, Status.LIMIT, detail=64)

    with pytest.raises(Refusal, match="no more than 64"):
        session.run(begin(facts()))


def test_extensions_are_the_devices_without_those_switched_off() -> None:
    session = FakeSession()

    assert session.run(begin(facts())).devices[0].is_range_export_on
    assert not session.run(begin(facts(RANGE))).devices[0].is_range_export_on


@pytest.mark.parametrize("profile", Profile)
def test_profile_is_what_the_device_asks_for(profile: Profile) -> None:
    assert FakeSession().state(profile=int(profile)).profile is profile


def test_numbers_are_never_used_twice() -> None:
    state = FakeSession().state()

    assert [state.next_id() for _ in range(3)] == [1, 2, 3]


def with_one_mapping() -> tuple[DriverState, Mapping]:
    state = FakeSession().state()
    physical = PhysicalObject(id=1, device=0, kind=PhysicalKind.DEVICE, object_id=9, size=0x10000)
    mapping = Mapping(0x10_0000, 0x10000, physical, 0)
    physical.mapping_count = 1
    state.physical[1] = physical
    state.reservations.insert(
        0x10_0000, 0x11_0000, Reservation(0x10_0000, 0x10000, in_arena=False, id=1)
    )
    state.mappings.insert(mapping.start, mapping.end, mapping)
    return state, mapping


def test_check_passes_what_is_sound() -> None:
    state, _ = with_one_mapping()

    state.check()


def test_check_finds_a_mapping_without_a_reservation() -> None:
    state, _ = with_one_mapping()
    state.reservations.remove(0x10_0000)

    with pytest.raises(AssertionError, match="no reservation"):
        state.check()


def test_check_finds_a_wrong_count_of_mappings() -> None:
    state, mapping = with_one_mapping()
    mapping.physical.mapping_count = 2

    with pytest.raises(AssertionError, match="counts 2"):
        state.check()


def test_finish_closes_the_descriptors_that_the_process_holds() -> None:
    session = FakeSession()
    state = session.state()
    physical = PhysicalObject(
        id=1, device=0, kind=PhysicalKind.HOST, object_id=9, size=4096, descriptor=7
    )
    state.physical[1] = physical
    named = Named(token=bytes(16), kind=ExportKind.RANGE, device=0, emulator_id=1, offset=0, size=1)
    ticket = TicketFile(8, (1, 2), bytes(64))
    session.tickets[8] = ticket
    state.exports.add(OwnExport(named, bytes(64), ticket, None))

    session.run(finish(state))
    session.run(finish(state))

    assert session.asked == [CloseDescriptor(7), DropTicket(ticket)]
