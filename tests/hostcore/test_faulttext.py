"""Faults in words."""

import pytest

from firmware.abi.faults import NO_LEVEL, FaultReason
from firmware.abi.ids import Access
from firmware.abi.status import Status
from hostdriver.core.faulttext import describe_fault, work_failed
from hostdriver.core.results import ZeResult
from tests.harness.fake_session import fault


@pytest.mark.decision("FAULT-01")
def test_fault_says_command_address_and_entry() -> None:
    text = describe_fault(fault(0x7F00_1000, 4, seqno=12, level=2, entry=0xABC))

    assert text == (
        "command 12 (COPY) of queue 4 could not read 0x7f001000: nothing is mapped there"
        " (page-table level 2, entry 0x0000000000000abc)"
    )


def test_fault_without_a_walk_names_no_level() -> None:
    record = fault(
        0, level=NO_LEVEL, reason=FaultReason.BAD_COMMAND, opcode=0x777, detail=8, access=Access(0)
    )

    assert describe_fault(record) == (
        "command 1 (opcode 0x777) of queue 1 could not use 0x0: the command is malformed (byte 0x8)"
    )


def test_every_reason_has_words() -> None:
    texts = {describe_fault(fault(1, reason=reason)) for reason in FaultReason}

    assert len(texts) == len(FaultReason)


def test_work_that_faulted_is_a_lost_device_with_the_fault() -> None:
    error = work_failed(Status.FAULT, [fault(0x5000)], "copy")

    assert error.result is ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
    assert error.description.startswith("copy: command 1 (COPY)")


def test_queue_that_stopped_without_a_record_says_its_status() -> None:
    assert work_failed(Status.DEVICE_LOST, [], "copy").description == (
        "copy: the queue stopped with DEVICE_LOST"
    )


def test_unknown_status_is_told_as_it_is() -> None:
    error = work_failed(0x999, [], "copy")

    assert error.result is ZeResult.ZE_RESULT_ERROR_UNKNOWN
    assert "0x999" in error.description
