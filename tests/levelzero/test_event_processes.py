"""Events across real processes: who sleeps is woken, and nobody waits for the dead."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.harness.emulator_process import EmulatorProcess, emulator_process
from tests.harness.event_program import EventProgram, event_program

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator


@contextmanager
def two_programs(emulator: EmulatorProcess) -> Generator[tuple[EventProgram, EventProgram]]:
    with event_program(emulator.path) as one, event_program(emulator.path) as other:
        assert other.do("open", one.do("make")) == "ok"
        yield one, other


@pytest.fixture(name="living", scope="module")
def make_living(emulator: EmulatorProcess) -> Iterator[tuple[EventProgram, EventProgram]]:
    with two_programs(emulator) as programs:
        yield programs


@pytest.fixture(name="programs")
def make_programs(
    living: tuple[EventProgram, EventProgram],
) -> tuple[EventProgram, EventProgram]:
    for index in range(8):
        living[0].do("reset", index)
    return living


@pytest.fixture(name="mortal")
def make_mortal(emulator: EmulatorProcess) -> Iterator[tuple[EventProgram, EventProgram]]:
    with two_programs(emulator) as programs:
        yield programs


def test_a_thread_that_sleeps_in_another_process_is_woken(
    programs: tuple[EventProgram, EventProgram],
) -> None:
    signaller, waiter = programs
    for index in range(8):
        waiter.begin("wait", index)
        signaller.do("sleepers", index)
        signaller.do("signal", index)
        assert waiter.end() == "ok"


def test_a_queue_wakes_a_thread_of_another_process(
    programs: tuple[EventProgram, EventProgram],
) -> None:
    signaller, waiter = programs
    waiter.begin("wait", 0)
    signaller.do("sleepers", 0)
    signaller.do("queue_signals", 0)

    assert waiter.end() == "ok"


def test_a_queue_waits_for_the_host_of_another_process(
    programs: tuple[EventProgram, EventProgram],
) -> None:
    signaller, waiter = programs
    waiter.do("queue_waits", 0)
    waiter.do("queue_signals", 1)
    waiter.begin("wait", 1)
    signaller.do("sleepers", 1)

    signaller.do("signal", 0)

    assert waiter.end() == "ok"


@pytest.mark.slow
def test_nobody_waits_for_a_queue_whose_process_was_killed(
    mortal: tuple[EventProgram, EventProgram],
) -> None:
    maker, signaller = mortal
    signaller.do("queue_waits", 0)
    signaller.do("queue_signals", 1)
    maker.begin("wait", 1)
    signaller.do("sleepers", 1)

    signaller.process.kill()

    assert maker.end() == "DEVICE_LOST"


@pytest.mark.slow
def test_who_opened_a_pool_uses_it_when_its_maker_was_killed(
    emulator: EmulatorProcess, mortal: tuple[EventProgram, EventProgram]
) -> None:
    maker, opener = mortal
    maker.process.kill()
    emulator.audit()

    opener.do("queue_waits", 0)
    opener.do("queue_signals", 1)
    opener.do("signal", 0)

    assert opener.do("wait", 1) == "ok"


def test_two_processes_answer_each_other(programs: tuple[EventProgram, EventProgram]) -> None:
    one, other = programs
    one.begin("answer", 200)
    for _ in range(200):
        other.do("signal", 0)
        assert other.do("wait", 1) == "ok"
        # Nobody but this one looks at the answer.
        other.do("reset", 1)
    assert one.end() == "ok"


def test_programs_with_and_without_the_compiled_part_answer_each_other(
    emulator: EmulatorProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with event_program(emulator.path) as one:
        monkeypatch.setenv("EMUZERO_COMPILED", "0")
        with event_program(emulator.path) as other:
            assert one.do("open", other.do("make")) == "ok"
            for signaller, waiter in ((one, other), (other, one)):
                waiter.begin("wait", 2)
                signaller.do("sleepers", 2)
                signaller.do("signal", 2)
                assert waiter.end() == "ok"
                waiter.do("reset", 2)

                waiter.begin("answer", 50)
                assert signaller.do("ask", 50) == "ok"
                assert waiter.end() == "ok"


@pytest.mark.slow
def test_a_wait_ends_when_the_emulator_is_killed(tmp_path_factory: pytest.TempPathFactory) -> None:
    with (
        emulator_process(tmp_path_factory.mktemp("killed")) as emulator,
        event_program(emulator.path) as one,
        event_program(emulator.path) as other,
    ):
        other.do("open", one.do("make"))
        one.begin("wait", 3)
        other.do("sleepers", 3)
        emulator.process.kill()

        assert one.end() == "DEVICE_LOST"
