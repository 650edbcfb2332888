"""The driver's end of a work ring."""

import pytest

from firmware.abi.control import ControlOpcode
from firmware.abi.replies import QueueCreated
from firmware.abi.rings import STATUS
from firmware.abi.status import Status
from firmware.link.errors import ContractError, RingFull
from firmware.link.layout import work_shape
from firmware.link.rings import Consumer
from firmware.link.ringshape import format_ring
from firmware.link.words import Words
from hostdriver.core.queue import WorkQueue

OFFSET = 64
ENTRIES = 4


def created(entries: int = ENTRIES) -> QueueCreated:
    return QueueCreated(
        opcode=ControlOpcode.QUEUE_CREATE,
        status=Status.OK,
        request=1,
        queue_id=3,
        doorbell=5,
        ring_offset=OFFSET,
        entry_count=entries,
    )


@pytest.fixture(name="words")
def make_words() -> Words:
    words = Words(memoryview(bytearray(4096)))
    format_ring(words.u8, OFFSET, work_shape(ENTRIES))
    return words


def command(number: int) -> bytes:
    return bytes([number]) * 64


def test_commands_are_numbered_from_one_on(words: Words) -> None:
    queue = WorkQueue(words, created())

    assert queue.put(command(1) + command(2)) == (0, 2, 2)
    assert queue.put(command(3)) == (2, 3, 3)
    assert queue.room == 1


def test_device_finds_the_commands_in_order(words: Words) -> None:
    queue = WorkQueue(words, created())
    device = Consumer(words, OFFSET, work_shape(ENTRIES))

    queue.put(command(1) + command(2))

    assert device.available() == 2
    assert [device.fetch() for _ in range(2)] == [command(1), command(2)]


def test_full_ring_takes_nothing(words: Words) -> None:
    queue = WorkQueue(words, created())
    queue.put(command(1) * ENTRIES)

    with pytest.raises(RingFull):
        queue.put(command(2))
    assert queue.seqno == ENTRIES


def test_status_that_stopped_the_ring_is_read(words: Words) -> None:
    queue = WorkQueue(words, created())
    assert queue.status == 0

    words.store32(OFFSET + STATUS, Status.FAULT)
    assert queue.status == Status.FAULT


def test_ring_of_another_size_than_told_is_refused(words: Words) -> None:
    with pytest.raises(ContractError, match="4 entries"):
        WorkQueue(words, created(entries=8))
