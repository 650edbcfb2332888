"""Tests of a user whose rules are on points of drivers: of the test's process, and of others."""

import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hostdriver import levelzero as ze
from hostdriver.pytestplugin.steps import Steps

VARIABLE = "EMUZERO_FAULTS_FOLLOW"
REFUSES = "api.zeMemAllocDevice refuse=ZE_RESULT_ERROR_DEVICE_LOST"
SCRIPT = """
from hostdriver import levelzero as ze

with ze.connect(start=None) as driver, driver.create_context() as context:
    try:
        context.mem_free(context.mem_alloc_device(driver.devices[0], 4096))
    except ze.ZeError as error:
        print(error.result.name, end="")
    else:
        print("worked", end="")
"""


def result_of(context: ze.Context) -> str:
    try:
        context.mem_free(context.mem_alloc_device(context.driver.devices[0], 4096))
    except ze.ZeError as error:
        return error.result.name
    return "worked"


def ask(steps: Steps) -> str:
    with ze.connect(start=None) as driver, driver.create_context() as context:
        first = result_of(context)
        steps.meet("asked")
        steps.meet("removed")
        return first


@pytest.mark.parametrize("driver", ["fixture", "own"])
def test_a_driver_of_the_test_follows(
    emuzero_inject: Any, emuzero_context: ze.Context, driver: str
) -> None:
    with ze.connect(start=None) as mine, mine.create_context() as own:
        context = own if driver == "own" else emuzero_context
        with emuzero_inject(REFUSES) as injected:
            assert result_of(context) == "ZE_RESULT_ERROR_DEVICE_LOST"
            assert injected.fired == 1
        assert result_of(context) == "worked"


def test_a_function_in_a_child_follows(emuzero_inject: Any, emuzero_processes: Any) -> None:
    rules = emuzero_inject(REFUSES)
    emuzero_processes.start("asker", ask)
    emuzero_processes.wait_for("asked")
    assert rules.fired == 1
    rules.remove()
    emuzero_processes.wait_for("removed")
    assert emuzero_processes.join() == {"asker": "ZE_RESULT_ERROR_DEVICE_LOST"}


def test_a_python_program_follows(emuzero_inject: Any, emuzero_run: Any, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with emuzero_inject(REFUSES):
        done = emuzero_run([sys.executable, str(script)])
        assert done.stdout == "ZE_RESULT_ERROR_DEVICE_LOST", done.stderr
    assert emuzero_run([sys.executable, str(script)]).stdout == "worked"


@pytest.mark.emuzero(driver="process", scope="session")
def test_an_emulator_is_shared(emuzero_run: Any) -> None:
    assert emuzero_run([os.environ["CLEAN_PROGRAM"]]).exit_status == 0


@pytest.mark.emuzero(driver="process", scope="session")
def test_a_c_programs_driver_in_a_process_of_its_own_follows(
    emuzero_inject: Any, emuzero_run: Any
) -> None:
    with emuzero_inject(REFUSES) as injected:
        assert emuzero_run([os.environ["CLEAN_PROGRAM"]]).exit_status == 1
        assert injected.fired == 1


SITES: list[str | None] = []


@pytest.mark.emuzero_fail_nth("os.driver.map")
def test_the_drivers_own_sites_are_swept(emuzero_context: ze.Context, emuzero_fault: Any) -> None:
    SITES.append(getattr(emuzero_fault, "label", None))
    try:
        emuzero_context.mem_free(emuzero_context.mem_alloc_host(4096))
    except ze.ZeError:
        assert emuzero_fault.fired


def test_there_was_one() -> None:
    assert SITES == [None, "os.driver.map#1"]


def test_rules_that_are_asked_for_later_reach_drivers_that_come_later(
    emuzero_device: Any, request: pytest.FixtureRequest
) -> None:
    assert VARIABLE not in os.environ
    inject = request.getfixturevalue("emuzero_inject")
    with (
        ze.connect(emuzero_device.socket, start=None) as driver,
        driver.create_context() as context,
        inject(REFUSES),
    ):
        assert result_of(context) == "ZE_RESULT_ERROR_DEVICE_LOST"


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0")


@pytest.mark.usefixtures("quiet")
def test_the_environment_has_the_last_word(
    emuzero_inject: Any, emuzero_context: ze.Context
) -> None:
    with emuzero_inject(REFUSES):
        assert result_of(emuzero_context) == "worked"


def test_a_test_without_rules_pays_for_nothing(emuzero_context: ze.Context) -> None:
    assert result_of(emuzero_context) == "worked"
    assert VARIABLE not in os.environ
    assert "emuzero rules" not in {thread.name for thread in threading.enumerate()}
