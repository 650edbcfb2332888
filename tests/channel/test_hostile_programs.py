"""Programs that die in the middle of calls, or whose library lies: the emulator is undisturbed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from typing import TYPE_CHECKING

import pytest

from firmware.abi.channel import CHANNEL_BEGIN, CHANNEL_SLOTS, MessageKind
from firmware.abi.handshake import Purpose
from firmware.link.descriptors import send_packet
from firmware.link.handshake import say_hello
from firmware.link.runtime_dir import connect_socket
from hostdriver.core.results import ZeResult
from tests.harness.emulator_process import emulator_process
from tests.harness.program_channel import NUMBERS, ProgramChannel, SessionEnded, items, structure

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.harness.emulator_process import EmulatorProcess

HOST = structure("ze_host_mem_alloc_desc_t")
DEVICE = structure("ze_device_mem_alloc_desc_t")
CALLS = {
    "zeMemAllocHost": items(1, 1, HOST, 0, 8192, 0, 1),
    "zeMemAllocShared": items(1, 1, DEVICE, 0, 1, HOST, 0, 8192, 0, 1, 1),
    "zeVirtualMemReserve": items(1, 0, 1 << 21, 1),
}
ALLOCATE = NUMBERS["zeMemAllocHost"], CALLS["zeMemAllocHost"]
SEED = 20
WORDS = (0, 1, 8, 1 << 31, (1 << 32) - 1, 1 << 47, 1 << 63, (1 << 64) - 1)


@pytest.fixture(name="emulator", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatorProcess]:
    """Return an emulator with two devices: memory of one is shown to the other."""
    with emulator_process(tmp_path_factory.mktemp("emulator"), device_count=2) as emulator:
        yield emulator


@contextlib.contextmanager
def stopped(emulator: EmulatorProcess) -> Generator[None]:
    """Let the emulator stand still meanwhile."""
    os.kill(emulator.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(emulator.pid, signal.SIGCONT)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("arena", [(1 << 44, 1 << 40), (0, 0)])
def test_a_program_that_dies_while_it_is_asked_leaves_nothing(
    name: str, arena: tuple[int, int], emulator: EmulatorProcess
) -> None:
    before = emulator.audit()
    for answers in range(20):
        with contextlib.closing(ProgramChannel(emulator.path, arena=arena)) as program:
            program.begin()
            heard = program.call(1, NUMBERS[name], CALLS[name], most_answers=answers)
        assert emulator.audit() == before
        if heard.kind == MessageKind.REPLY:
            assert (heard.result, heard.text) == (0, "")
            return
    pytest.fail(f"{name} asks without an end")


def test_a_program_that_is_gone_before_its_welcome_leaves_nothing(
    emulator: EmulatorProcess,
) -> None:
    before = emulator.audit()
    with stopped(emulator):
        for _ in range(5):
            with connect_socket(emulator.path) as connection:
                send_packet(connection, say_hello("hasty", purpose=Purpose.PROGRAM).pack())
    with contextlib.closing(ProgramChannel(emulator.path)) as last:
        last.begin()
    assert emulator.audit() == before


def test_a_program_that_takes_no_descriptors_gets_an_error(emulator: EmulatorProcess) -> None:
    before = emulator.audit()
    with contextlib.closing(ProgramChannel(emulator.path)) as program:
        program.begin()
        program.refuse_descriptors()
        heard = program.call(1, *ALLOCATE)
        assert heard.result == ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
        assert "gets no descriptors" in heard.text
        assert emulator.audit().objects == before.objects
    assert emulator.audit() == before


def test_an_answer_that_is_none_undoes_its_call(emulator: EmulatorProcess) -> None:
    before = emulator.audit()
    with contextlib.closing(ProgramChannel(emulator.path)) as program:
        program.begin()
        for _ in range(3):
            assert program.call(1, *ALLOCATE, most_answers=0).kind == MessageKind.QUESTION
            program.post(1, MessageKind.ANSWER, 0, b"")
            heard = program.hear(1)
            assert heard.kind == MessageKind.REPLY
            assert heard.result == ZeResult.ZE_RESULT_ERROR_UNKNOWN
            assert "sent nonsense" in heard.text
            assert emulator.audit().objects == before.objects
        assert program.call(1, *ALLOCATE).result == 0
    assert emulator.audit() == before


@pytest.mark.parametrize("kind", [0, MessageKind.CALL, MessageKind.REPLY, 77])
def test_another_message_in_the_middle_of_a_call_ends_the_session(
    kind: int, emulator: EmulatorProcess
) -> None:
    before = emulator.audit()
    with (
        contextlib.closing(ProgramChannel(emulator.path)) as other,
        contextlib.closing(ProgramChannel(emulator.path)) as program,
    ):
        other.begin()
        program.begin()
        program.call(1, *ALLOCATE, most_answers=0)
        program.post(1, kind, *ALLOCATE)
        with pytest.raises(SessionEnded):
            program.hear(1)
        assert other.call(1, *ALLOCATE).result == 0
    assert emulator.audit() == before


def test_nonsense_in_the_ring_of_appends_ends_the_session(emulator: EmulatorProcess) -> None:
    chance = random.Random(SEED)
    before = emulator.audit()
    with contextlib.closing(ProgramChannel(emulator.path)) as other:
        other.begin()
        for _ in range(20):
            with contextlib.closing(ProgramChannel(emulator.path)) as program:
                program.begin()
                size = chance.randrange(8, 256, 8)
                program.record(chance.randbytes(size), chance.choice((size, 8, 7, 1 << 63)))
                with pytest.raises(SessionEnded):
                    program.call(1, *ALLOCATE)
        assert other.call(1, *ALLOCATE).result == 0
    assert emulator.audit() == before


def test_a_process_begins_once(emulator: EmulatorProcess) -> None:
    with contextlib.closing(ProgramChannel(emulator.path)) as program:
        assert program.begin().result == 0
        again = program.call(2, CHANNEL_BEGIN, items(0, 0, 0))
        assert again.result == ZeResult.ZE_RESULT_ERROR_UNKNOWN
        assert program.call(1, *ALLOCATE).result == 0


def test_random_messages_in_all_slots_cost_nobody_else_anything(emulator: EmulatorProcess) -> None:
    chance = random.Random(SEED)
    before = emulator.audit()
    with contextlib.closing(ProgramChannel(emulator.path)) as other:
        other.begin()
        for _ in range(3):
            with contextlib.closing(ProgramChannel(emulator.path)) as program:
                program.begin()
                for _ in range(500):
                    words = [chance.choice(WORDS) for _ in range(chance.randrange(12))]
                    name = chance.choice(list(CALLS))
                    program.post(
                        chance.randrange(CHANNEL_SLOTS),
                        chance.choice((1, 1, 2, 2, 0, 3, 4, 99)),
                        chance.choice((NUMBERS[name], chance.choice(list(NUMBERS.values())), 0)),
                        chance.choice((CALLS[name], items(*words), chance.randbytes(100))),
                        chance.choice((None, None, 0, (1 << 32) - 1)),
                    )
            assert other.call(1, *ALLOCATE).result == 0
    assert emulator.audit() == before
