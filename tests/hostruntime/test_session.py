"""A session: work rings, waits, faults, and how it ends."""

import threading

import pytest

from firmware.abi.control import ControlCommand, Nop, QueueCreate, QueueDestroy
from firmware.abi.registers import FAULT_STATUS
from firmware.abi.replies import Reply
from firmware.abi.rings import (
    HEAD,
    PRODUCER_SLEEPERS,
    STATUS,
)
from firmware.abi.status import Status
from firmware.link.errors import ContractError
from hostdriver.core.questions import Waited
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.runtime.session import Session
from tests.harness.fake_firmware import (
    CREATE,
    ENTRIES,
    RING,
    WORD,
    created,
    done,
    inline_firmware,
    served_firmware,
)
from tests.harness.fake_session import fault, spec_block
from tests.harness.link_conformance import Stored
from tests.harness.link_pairs import PLAN


def answer(command: ControlCommand) -> Reply:
    return created(command) if isinstance(command, QueueCreate) else done(command)


def ask(session: Session, command: ControlCommand) -> Reply:
    return session.collect(command, session.post(command)).reply


def command(number: int) -> bytes:
    return bytes([number]) * 64


def test_session_knows_what_its_device_is() -> None:
    with inline_firmware() as (_, host):
        session = Session(host)

        assert session.facts.spec == spec_block()
        assert session.facts.superblock == host.superblock


def test_malformed_specification_is_refused() -> None:
    with inline_firmware() as (device, host):
        device.view[PLAN.spec_offset + 0x1F8] = 1

        with pytest.raises(ContractError, match="SpecBlock"):
            Session(host)


def test_commands_reach_the_ring_that_the_device_placed() -> None:
    with inline_firmware(answer) as (device, host):
        ring = device.make_ring()
        session = Session(host)
        ask(session, CREATE)

        assert session.submit(1, [command(1), command(2)]) == 2
        assert session.submit(1, [command(3)]) == 3

        assert ring.available() == 3
        assert [ring.fetch() for _ in range(3)] == [command(1), command(2), command(3)]


def test_queue_is_gone_once_the_device_destroyed_it() -> None:
    with inline_firmware(answer) as (device, host):
        device.make_ring()
        session = Session(host)
        ask(session, CREATE)
        ask(session, QueueDestroy(request=0, queue_id=1))

        with pytest.raises(ZeError, match="queue 1 does not exist"):
            session.submit(1, [command(1)])


def test_queue_whose_ring_is_not_there_ends_the_session() -> None:
    with inline_firmware(answer) as (_, host):
        session = Session(host)

        with pytest.raises(ZeError) as caught:
            ask(session, CREATE)
        assert caught.value.result is ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
        with pytest.raises(ZeError):
            ask(session, Nop(request=0))


def test_full_ring_is_waited_for() -> None:
    with served_firmware(answer) as (device, host):
        ring = device.make_ring()
        session = Session(host)
        ask(session, CREATE)
        session.submit(1, [command(0)] * ENTRIES)
        seqnos: list[int] = []
        commands = [command(n) for n in range(20)]
        thread = threading.Thread(target=lambda: seqnos.append(session.submit(1, commands)))
        thread.start()

        taken: list[bytes] = []
        while len(taken) < ENTRIES + 20:
            if ring.available():
                taken.append(ring.fetch())
                ring.publish_head()
                device.notifier.notify([stored(RING + HEAD)])
        thread.join()

    assert seqnos == [ENTRIES + 20]
    assert taken[ENTRIES:] == commands


def stored(word: int) -> Stored:
    return Stored(word, RING + PRODUCER_SLEEPERS, 0, 0, 0)


def test_full_ring_that_stopped_is_an_error() -> None:
    with inline_firmware(answer) as (device, host):
        device.make_ring()
        session = Session(host)
        ask(session, CREATE)
        session.submit(1, [command(0)] * ENTRIES)
        device.end.segment.words.store32(RING + STATUS, Status.FAULT)

        with pytest.raises(ZeError, match="while it was full"):
            session.submit(1, [command(0)])


def test_head_out_of_bounds_ends_the_session() -> None:
    with inline_firmware(answer) as (device, host):
        device.make_ring()
        session = Session(host)
        ask(session, CREATE)
        device.end.segment.words.store32(RING + HEAD, 77)

        with pytest.raises(ZeError, match="head 0x4d") as caught:
            session.submit(1, [command(0)])
        assert caught.value.result is ZeResult.ZE_RESULT_ERROR_DEVICE_LOST


def test_wait_ends_with_the_value() -> None:
    with served_firmware(answer) as (device, host):
        device.make_ring()
        session = Session(host)
        thread = threading.Thread(target=device.complete, args=(7,))
        thread.start()

        assert session.wait(WORD, 7, None) == Waited(7, 0)
        assert session.wait(WORD, 3, None) == Waited(7, 0)
        thread.join()


def test_wait_ends_with_a_status() -> None:
    with inline_firmware(answer) as (device, host):
        device.make_ring()
        session = Session(host)
        device.complete(6, Status.FAULT)

        assert session.wait(WORD, 7, None) == Waited(6, Status.FAULT)


def test_wait_ends_when_its_time_is_up() -> None:
    with inline_firmware(answer) as (device, host):
        device.make_ring()
        session = Session(host)
        device.complete(6)

        assert session.wait(WORD, 7, 0) == Waited(6, 0)


def test_wait_ends_when_the_device_is_gone() -> None:
    with served_firmware(answer) as (device, host):
        device.make_ring()
        session = Session(host)
        device.lose_client()

        with pytest.raises(ZeError, match="ended the session") as caught:
            session.wait(WORD, 7, None)
        assert caught.value.result is ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
        with pytest.raises(ZeError):
            session.submit(1, [command(0)])
        with pytest.raises(ZeError):
            session.post(Nop(request=0))
        with pytest.raises(ZeError):
            session.take_faults(1)


def test_faults_are_given_to_the_queue_that_they_belong_to() -> None:
    with inline_firmware(answer) as (device, host):
        session = Session(host)
        records = [fault(0x1000, 1), fault(0x2000, 2), fault(0x3000, 1)]
        for record in records:
            device.fault(record)

        assert session.take_faults(1) == (records[0], records[2])
        assert session.take_faults(1) == ()
        assert session.take_faults(2) == (records[1],)


def test_reading_faults_acknowledges_them_and_makes_room() -> None:
    with inline_firmware(answer) as (device, host):
        session = Session(host)
        for round_ in range(3):
            for number in range(PLAN.fault_ring.entry_count):
                device.fault(fault(0x1000 * number, 1, seqno=round_ + 1))

            assert len(session.take_faults(1)) == PLAN.fault_ring.entry_count
        register = PLAN.registers_offset + FAULT_STATUS.offset
        assert device.end.segment.words.load32(register) != 0


def test_malformed_fault_ends_the_session() -> None:
    with inline_firmware(answer) as (device, host):
        session = Session(host)
        device.faults.put(b"\xff" * 64)
        device.faults.publish()

        with pytest.raises(ZeError, match="fault ring"):
            session.take_faults(1)


def test_hanging_up_ends_every_wait_of_other_threads() -> None:
    ended: list[str] = []

    def wait(session: Session) -> None:
        try:
            session.wait(WORD, 7, None)
        except ZeError as error:
            ended.append(error.description)

    with served_firmware(answer) as (device, host):
        device.make_ring()
        session = Session(host)
        threads = [threading.Thread(target=wait, args=(session,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        session.hang_up("the driver was closed")
        for thread in threads:
            thread.join()

    assert ended == ["the driver was closed"] * 3
