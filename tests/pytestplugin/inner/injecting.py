"""Tests of a user with faults: rules, recovery, and a test with each of its sites failing."""

import os
from typing import Any

import pytest
import trio

from firmware.inject import Rule, When
from firmware.inject.actions import Fail
from hostdriver import levelzero as ze
from hostdriver.pytestplugin.steps import Steps

FAILS = "memory.allocate fail"


def allocate(context: ze.Context) -> int:
    return context.mem_alloc_device(context.driver.devices[0], 4096)


def test_a_rule_is_there_for_a_block(emuzero_inject: Any, emuzero_context: ze.Context) -> None:
    with emuzero_inject(FAILS) as injected:
        with pytest.raises(ze.ZeError, match="OUT_OF_DEVICE_MEMORY"):
            allocate(emuzero_context)
        assert injected.fired == 1
    emuzero_context.mem_free(allocate(emuzero_context))
    (hit,) = emuzero_inject.hits()
    assert (hit.rule, hit.point) == (injected.names[0], "memory.allocate")


def test_a_rule_may_be_an_object_or_words(emuzero_inject: Any, emuzero_context: ze.Context) -> None:
    once = Rule("memory.allocate", Fail(), when=When(times=1), name="once")
    words = {"point": "memory.allocate", "action": "fail", "times": 1, "name": "twice"}
    assert emuzero_inject(once, words).names == ("once", "twice")
    for _ in range(2):
        with pytest.raises(ze.ZeError):
            allocate(emuzero_context)
    emuzero_context.mem_free(allocate(emuzero_context))


@pytest.mark.emuzero(scope="session")
def test_rules_go_with_their_test(emuzero_inject: Any) -> None:
    emuzero_inject(FAILS)


@pytest.mark.emuzero(scope="session")
def test_the_test_behind_it_has_none(emuzero_inject: Any, emuzero_context: ze.Context) -> None:
    assert emuzero_inject.faults.rules().rules == []
    emuzero_context.mem_free(allocate(emuzero_context))


def test_rules_are_gone_before_things_are_given_back(
    emuzero_inject: Any, emuzero_context: ze.Context
) -> None:
    emuzero_context.mem_free(allocate(emuzero_context))
    emuzero_inject("mcu.command drop")


def test_a_call_recovers(emuzero_inject: Any, emuzero_context: ze.Context) -> None:
    found = emuzero_inject.recovers(lambda: allocate(emuzero_context), FAILS)
    assert found.error.result is ze.ZeResult.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
    emuzero_context.mem_free(found.value)


def test_the_seed_is_that_of_the_run(emuzero_inject: Any) -> None:
    assert emuzero_inject.faults.rules().seed == 7


RUNS: list[Any] = []


@pytest.mark.emuzero_fail_nth(FAILS)
@pytest.mark.parametrize("count", [2])
def test_each_allocation_may_fail(
    emuzero_context: ze.Context, emuzero_fault: Any, count: int
) -> None:
    RUNS.append(emuzero_fault)
    made: list[int] = []
    try:
        made.extend(allocate(emuzero_context) for _ in range(count))
    except ze.ZeError:
        assert emuzero_fault.fired
        assert emuzero_fault.seen == emuzero_fault.nth == len(RUNS) - 1
    else:
        assert emuzero_fault is None
    for pointer in made:
        emuzero_context.mem_free(pointer)


ASYNC: list[Any] = []


@pytest.mark.emuzero_fail_nth("memory.allocate")
async def test_async_tests_are_swept(emuzero_context: ze.Context, emuzero_fault: Any) -> None:
    ASYNC.append(emuzero_fault)
    await trio.lowlevel.checkpoint()
    try:
        emuzero_context.mem_free(allocate(emuzero_context))
    except ze.ZeError:
        assert emuzero_fault.fired


@pytest.mark.parametrize("runs", [RUNS, ASYNC], ids=["sync", "async"])
def test_it_was_run_for_each_of_them(runs: list[Any]) -> None:
    first, *others = runs
    assert first is None
    assert [fault.label for fault in others] == [
        f"memory.allocate#{number}" for number in range(1, len(runs))
    ]
    assert len(others) >= 1


PROGRAMS: list[int] = []


@pytest.mark.emuzero_fail_nth("mcu.command")
def test_programs_are_swept(emuzero_run: Any, emuzero_fault: Any) -> None:
    done = emuzero_run([os.environ["CLEAN_PROGRAM"]])
    PROGRAMS.append(done.exit_status)
    if emuzero_fault is None:
        done.check()
    else:
        assert emuzero_fault.fired


def test_a_program_failed_by_each_of_its_sites() -> None:
    first, *others = PROGRAMS
    assert first == 0
    assert len(others) > 2
    assert set(others) == {1}


def work(steps: Steps) -> str:
    steps.meet("start")
    try:
        with ze.connect() as driver, driver.create_context() as context:
            context.mem_free(allocate(context))
    except ze.ZeError as error:
        return error.result.name
    return "fine"


@pytest.mark.emuzero_fail_nth("memory.allocate")
def test_processes_are_swept(emuzero_processes: Any, emuzero_fault: Any) -> None:
    emuzero_processes.exporter(work)
    emuzero_processes.importer(work)
    ends = [*emuzero_processes.join().values()]
    failed = "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"
    assert sorted(ends) == ([failed, "fine"] if emuzero_fault else ["fine", "fine"])


class TestMethods:
    @pytest.mark.emuzero_fail_nth("memory.allocate nosuch")
    def test_a_marker_may_be_wrong(self, emuzero_context: ze.Context) -> None:
        raise AssertionError("nobody comes here")

    @pytest.mark.emuzero_fail_nth("memory.allocate")
    def test_it_forgets_what_it_had(
        self, emuzero_context: ze.Context, emuzero_driver: ze.Driver
    ) -> None:
        first = allocate(emuzero_context)
        try:
            second = allocate(emuzero_context)
        except ze.ZeError:
            return
        emuzero_context.mem_free(first)
        emuzero_context.mem_free(second)


@pytest.mark.emuzero_fail_nth("memory.allocate")
def test_it_needs_an_emulator() -> None:
    raise AssertionError("nobody comes here")


@pytest.mark.emuzero_fail_nth("memory.allocate", at_most=2)
def test_there_are_too_many(emuzero_context: ze.Context) -> None:
    for _ in range(3):
        emuzero_context.mem_free(allocate(emuzero_context))


@pytest.mark.emuzero_fail_nth("memory.access")
def test_there_is_no_site(emuzero_device: Any) -> None:
    """Reach nothing."""


def test_a_call_does_not_fail(emuzero_inject: Any, emuzero_context: ze.Context) -> None:
    emuzero_inject.recovers(lambda: "fine", FAILS)


def test_a_call_fails_by_itself(emuzero_inject: Any, emuzero_context: ze.Context) -> None:
    emuzero_inject.recovers(lambda: emuzero_context.mem_free(3), FAILS)


def test_a_call_does_not_recover(emuzero_inject: Any, emuzero_context: ze.Context) -> None:
    kept: list[int] = []

    def forget() -> None:
        if kept:
            raise LookupError("it remembers")
        kept.append(1)
        allocate(emuzero_context)

    emuzero_inject.recovers(forget, FAILS)


def test_a_rule_is_wrong(emuzero_inject: Any) -> None:
    emuzero_inject("memory.allocate explode")


def test_a_failure_tells_of_rules(emuzero_inject: Any, emuzero_context: ze.Context) -> None:
    emuzero_inject("memory.allocate fail nth=2 name=second")
    allocate(emuzero_context)
    allocate(emuzero_context)
