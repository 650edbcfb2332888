"""Connections of drivers to their emulator that are refused, closed or late, by rules."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from hostdriver import levelzero as ze
from hostdriver.inject.follower import Changes, Follower
from hostdriver.inject.joining import FOLLOW_VARIABLE, local
from hostdriver.inject.remote import Faults
from tests.harness.commandline import emuzero
from tests.harness.emulator_process import emulator_process

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.harness.emulator_process import EmulatorProcess

POINT = "os.driver.connect"
LATE_SECONDS = 0.2
LONG_SECONDS = 3_600.0
PATIENCE_SECONDS = 30.0
PROGRAM = """
from hostdriver import levelzero as ze
try:
    ze.connect(start=None).close()
except ze.ZeError as error:
    print(error)
else:
    print("connected")
"""


@pytest.fixture(name="faults")
def make_faults(emulator: EmulatorProcess, monkeypatch: pytest.MonkeyPatch) -> Generator[Faults]:
    monkeypatch.setenv(FOLLOW_VARIABLE, "1")
    with Faults(emulator.path) as faults:
        yield faults
        faults.clear(forget=True)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def connected(emulator: EmulatorProcess) -> None:
    ze.connect(emulator.path, start=None).close()


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("errno=ECONNREFUSED", "no emulator listens at .*; start one there with"),
        ("errno=EACCES", "no emulator answers at .* by rule 'mine'"),
        ("errno=EMFILE", "no descriptor for .* by rule 'mine'"),
        ("close", "no answer to the hello"),
    ],
)
def test_a_connection_that_fails_is_told_and_leaves_nothing(
    action: str, told: str, emulator: EmulatorProcess, faults: Faults
) -> None:
    connected(emulator)
    before, here = emulator.audit().clients, descriptors()
    with faults.injected(f"{POINT} {action} name=mine"):
        with pytest.raises(ze.ZeError, match=told) as caught:
            connected(emulator)
        assert [hit.by for hit in faults.hits(rule="mine")] == [os.getpid()]
    assert caught.value.result is ze.ZeResult.ZE_RESULT_ERROR_UNINITIALIZED
    assert (emulator.audit().clients, descriptors(), local) == (before, here, [])
    connected(emulator)


def test_a_driver_that_ends_while_it_hears_of_changed_rules_can_still_wake_who_hears(
    emulator: EmulatorProcess, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that hears is over as soon as it sees the end, before the end has seen to it."""
    hears_again, is_over = threading.Event(), threading.Event()
    talks: list[Changes] = []
    are_there: list[bool] = []
    ask, close = Changes.ask, Follower.close

    def asks(changes: Changes, generation: int) -> None:
        if talks:
            hears_again.set()
            is_over.wait(PATIENCE_SECONDS)
        talks.append(changes)
        ask(changes, generation)

    def closes(follower: Follower) -> None:
        hears_again.wait(PATIENCE_SECONDS)
        close(follower)
        is_over.set()
        begun = time.monotonic()
        while talks[0].is_open and time.monotonic() - begun < LATE_SECONDS:
            os.sched_yield()
        are_there.append(talks[0].is_open)

    monkeypatch.setattr(Changes, "ask", asks)
    monkeypatch.setattr(Follower, "close", closes)
    driver = ze.connect(emulator.path, start=None)
    faults.add(f"{POINT} errno=EACCES name=mine")

    driver.close()

    assert are_there == [True]
    assert [talk.is_open for talk in talks] == [False, False]
    assert local == []


def test_a_connection_is_late(emulator: EmulatorProcess, faults: Faults) -> None:
    faults.add(f"{POINT} delay={LATE_SECONDS} nth=1")
    begun = time.monotonic()
    connected(emulator)
    assert time.monotonic() - begun >= LATE_SECONDS


def test_a_connection_that_is_held_up_is_made_when_its_rule_goes(
    emulator: EmulatorProcess, faults: Faults
) -> None:
    faults.add(f"{POINT} delay={LONG_SECONDS} name=long")
    caller = threading.Thread(target=connected, args=(emulator,))
    caller.start()
    next(faults.follow(rule="long", patience_seconds=PATIENCE_SECONDS))
    assert caller.is_alive()

    faults.remove("long")

    caller.join(PATIENCE_SECONDS)
    assert not caller.is_alive()


def test_a_driver_that_may_start_an_emulator_tries_again(
    emulator: EmulatorProcess, faults: Faults
) -> None:
    """The one that was there may have left just now."""

    def start(path: Path) -> None:
        raise AssertionError(f"somebody listens at {path}")

    with faults.injected(f"{POINT} errno=ECONNREFUSED nth=1 name=once"):
        ze.connect(emulator.path, start=start).close()
        assert [(row.seen, row.fired) for row in faults.rules().rules] == [(2, 1)]


def test_an_emulator_that_the_driver_has_started_may_be_out_of_its_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLLOW_VARIABLE, "1")
    with ExitStack() as running:
        started: list[EmulatorProcess] = []

        def start(path: Path) -> None:
            started.append(running.enter_context(emulator_process(path.parent)))
            with Faults(started[0].path) as faults:
                faults.add(f"{POINT} errno=EACCES name=mine", stay=True)

        with emulator_process(tmp_path) as example:
            path = example.path
        with pytest.raises(ze.ZeError, match="by rule 'mine'"):
            ze.connect(path, start=start)
        assert len(started) == 1


def test_each_device_is_connected_to_and_the_command_tells() -> None:
    words = ("run", "--devices", "2", "--vram", "64MiB")
    rules = ("--fault", f"{POINT} errno=EACCES nth=2 name=second")
    done = emuzero(*words, *rules, "--", sys.executable, "-c", PROGRAM)

    assert "ZE_RESULT_ERROR_UNINITIALIZED" in done.stdout
    assert "by rule 'second'" in done.stdout
    assert "name=second  seen 2, fired 1" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "result"),
    [
        ("errno=ECONNREFUSED", ze.ZeResult.ZE_RESULT_ERROR_UNINITIALIZED),
        ("close", ze.ZeResult.ZE_RESULT_ERROR_UNINITIALIZED),
        (f"delay={LATE_SECONDS}", ze.ZeResult.ZE_RESULT_SUCCESS),
    ],
)
def test_a_c_programs_driver_in_a_process_of_its_own_connects_too(
    script: Path, action: str, result: ze.ZeResult
) -> None:
    words = ("run", "--driver", "process", "--vram", "64MiB", "--fault", f"{POINT} {action} nth=1")
    done = emuzero(*words, "--", str(script), stdin="start\n")

    (first, *_) = done.stdout.splitlines()
    assert int(first.split("|")[0], 0) == result, (done.stdout, done.stderr)
    assert "seen 1, fired 1" in done.stderr
