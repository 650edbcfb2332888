"""Python programs that die or stop at a point of their calls, by rules that they follow."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from hostdriver import levelzero as ze
from hostdriver.inject.joining import FOLLOW_VARIABLE
from hostdriver.inject.remote import Faults
from tests.harness.children import child, hear, say
from tests.harness.emulator_process import emulator_process

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.harness.children import Child
    from tests.harness.emulator_process import Audit, EmulatorProcess

SHORT_SECONDS = 0.2
LOOK_SECONDS = 0.01
PATIENCE_SECONDS = 30.0
POINTS = ["before", "inside", "after"]


@pytest.fixture(autouse=True)
def follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLLOW_VARIABLE, "1")


@pytest.fixture(name="faults")
def make_faults(emulator: EmulatorProcess) -> Generator[Faults]:
    with Faults(emulator.path) as faults:
        yield faults
        faults.clear(forget=True)


def held(emulator: EmulatorProcess, faults: Faults) -> Audit:
    """Return what the emulator holds for those who are there: who has left is gone by an answer."""
    faults.rules()
    return emulator.audit()


@contextmanager
def caller(emulator: EmulatorProcess) -> Generator[Child]:
    """Run a program that allocates host memory each time that it is asked to."""
    with child("tests.inject.test_python_peers", "allocate", emulator.path) as process:
        assert process.hear() == "ready"
        yield process


def await_stop(process: Child) -> None:
    """Return when the process was stopped."""
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert os.WSTOPSIG(status) == signal.SIGSTOP


def call_until_stopped(process: Child) -> None:
    """Have the process call until it was stopped: a rule of another one comes a moment later."""
    end = time.monotonic() + PATIENCE_SECONDS
    told = process.process.stdout
    assert told is not None
    process.say("go")
    while True:
        pid, status = os.waitpid(process.pid, os.WUNTRACED | os.WNOHANG)
        if pid:
            assert os.WIFSTOPPED(status)
            return
        if select.select([told], [], [], LOOK_SECONDS)[0]:
            assert process.hear() == "worked"
            process.say("go")
        assert time.monotonic() < end


@pytest.mark.parametrize("point", POINTS)
def test_a_program_that_is_killed_in_a_call_leaves_nothing_and_its_last_hit_is_told(
    point: str, emulator: EmulatorProcess, faults: Faults
) -> None:
    before = held(emulator, faults)
    faults.add(f"peer.{point} kill call=zeMemAllocHost name=dies")
    with caller(emulator) as victim:
        victim.say("go")
        assert victim.process.wait() == -signal.SIGKILL
        (hit,) = faults.hits(rule="dies")
        assert (hit.by, hit.site["call"]) == (victim.pid, "zeMemAllocHost")
    assert held(emulator, faults) == before


@pytest.mark.parametrize("point", POINTS)
def test_a_stopped_program_goes_on_when_the_rule_goes(
    point: str, emulator: EmulatorProcess, faults: Faults
) -> None:
    name, *_ = faults.add(f"peer.{point} stop call=zeMemAllocHost times=1")
    with caller(emulator) as process:
        process.say("go")
        await_stop(process)
        assert [row.fired for row in faults.rules().rules] == [1]
        faults.remove(name)
        assert process.hear() == "worked"
        process.say("go")
        assert process.hear() == "worked"


def test_a_stopped_program_goes_on_when_its_time_is_over(
    emulator: EmulatorProcess, faults: Faults
) -> None:
    faults.add(f"peer.inside stop={SHORT_SECONDS} call=zeMemAllocHost times=1")
    with caller(emulator) as process:
        begun = time.monotonic()
        process.say("go")
        await_stop(process)
        assert process.hear() == "worked"
        assert time.monotonic() - begun >= SHORT_SECONDS


def test_a_stopped_program_goes_on_when_its_owner_leaves_and_holds_up_nobody(
    emulator: EmulatorProcess,
) -> None:
    with caller(emulator) as process, caller(emulator) as other:
        with Faults(emulator.path) as faults:
            faults.add(f"peer.before stop call=zeMemAllocHost pid={process.pid}")
            call_until_stopped(process)
            other.say("go")
            assert other.hear() == "worked"
        assert process.hear() == "worked"


def test_a_stopped_program_goes_on_when_the_emulator_ends(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with emulator_process(tmp_path_factory.mktemp("emulator")) as emulator:
        with Faults(emulator.path) as faults:
            faults.add("peer.before stop call=zeMemAllocHost", stay=True)
        with caller(emulator) as process:
            process.say("go")
            await_stop(process)
            assert emulator.process.end() == 0
            assert process.hear() == "ZE_RESULT_ERROR_DEVICE_LOST"


def test_one_that_dies_while_it_is_stopped_is_forgotten(
    emulator: EmulatorProcess, faults: Faults
) -> None:
    before = held(emulator, faults)
    faults.add("peer.before stop call=zeMemAllocHost")
    with caller(emulator) as process:
        process.say("go")
        await_stop(process)
        process.kill()
        assert held(emulator, faults) == before
    faults.clear()
    with caller(emulator) as next_one:
        next_one.say("go")
        assert next_one.hear() == "worked"


def allocate(path: str) -> None:
    """Allocate host memory whenever told to; in a child."""
    with ze.connect(path, start=None) as driver, driver.create_context() as context:
        say("ready")
        while hear():
            try:
                context.mem_free(context.mem_alloc_host(4096))
            except ze.ZeError as error:
                say(error.result.name)
            else:
                say("worked")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
