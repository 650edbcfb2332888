"""Rules on calls of C programs: refused, failing late, held up; whoever answers them else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from firmware.inject import points
from hostdriver.channel.specs import interface
from hostdriver.core.results import ZeResult
from tests.harness.scripted import NOTHING, scripted

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.ruled_emulator import RuledEmulator
    from tests.harness.scripted import Scripted

SUCCESS = ZeResult.ZE_RESULT_SUCCESS
LOST = ZeResult.ZE_RESULT_ERROR_DEVICE_LOST


def test_a_refused_call_is_not_carried_out_and_says_which_rule_did_it(
    ruled: RuledEmulator, program: Scripted
) -> None:
    program.get("host 4096")
    before, held = ruled.audit(), program.held()
    with ruled.rule("api.zeMemAllocDevice refuse=ZE_RESULT_ERROR_DEVICE_LOST name=full"):
        ended = program.do("device 65536")
    assert ended.result is LOST
    assert ended.text == "injected by rule 'full': zeMemAllocDevice was not carried out"
    assert (ruled.audit(), program.held()) == (before, held)
    assert program.get(f"free {program.get('device 65536')}")


def test_a_call_that_fails_late_was_carried_out_and_gave_its_outputs(
    ruled: RuledEmulator, program: Scripted
) -> None:
    before = ruled.audit()
    with ruled.rule("api.zeMemAllocDevice fail_late=ZE_RESULT_ERROR_DEVICE_LOST name=late"):
        ended = program.do("device 65536")
    assert ended.result is LOST
    assert "'late': zeMemAllocDevice was carried out, and had ended" in ended.text
    assert ruled.audit().objects == before.objects + 1
    assert program.get(f"free {ended.value}")
    assert ruled.audit().objects == before.objects


def test_what_fails_late_when_it_frees_is_freed(ruled: RuledEmulator, program: Scripted) -> None:
    pointer = program.get("device 65536")
    with ruled.rule("api.zeMemFree fail_late"):
        assert program.do(f"free {pointer}").result is ZeResult.ZE_RESULT_ERROR_UNKNOWN
    assert program.do(f"free {pointer}").result is ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT


def test_a_delayed_call_holds_up_nobody_else(
    script: Path, ruled: RuledEmulator, program: Scripted
) -> None:
    with scripted(script, ruled.path) as other:
        name = ruled.add(f"api.zeMemAllocHost delay=600 pid={program.process.pid}")
        program.say("host 4096")
        while not ruled.fired(name):
            assert other.get("host 4096") != NOTHING
        assert other.get("host 4096") != NOTHING
        # Its time is not over, but its rule is gone.
        ruled.remove(name)
        assert program.hear().result is SUCCESS


def test_a_delayed_call_is_carried_out_when_its_time_has_come(
    ruled: RuledEmulator, program: Scripted
) -> None:
    with ruled.rule("api.zeMemAllocHost delay=0.2"):
        begun = time.monotonic()
        program.get("host 4096")
        assert time.monotonic() - begun >= 0.2
    program.get("host 4096")


@pytest.mark.parametrize(
    ("function", "line", "usually"),
    [
        ("zeMemGetAllocProperties", "type 0x10", SUCCESS),
        ("zeEventQueryStatus", "query", ZeResult.ZE_RESULT_NOT_READY),
        ("zeCommandListAppendMemoryFill", "append {host}", SUCCESS),
        ("zeImageDestroy", "image", ZeResult.ZE_RESULT_ERROR_INVALID_NULL_HANDLE),
        ("zeDriverGet", "start", SUCCESS),
    ],
)
def test_what_the_library_answers_by_itself_is_refused_and_fails_late_too(
    function: str, line: str, usually: ZeResult, ruled: RuledEmulator, program: Scripted
) -> None:
    host = program.get("host 4096")
    program.get("event")
    program.get("list")
    line = line.format(host=host)
    assert program.do(line).result is usually
    for action in ("refuse", "fail_late"):
        with ruled.rule(f"api.{function} {action}=ZE_RESULT_ERROR_DEVICE_LOST"):
            ended = program.do(line)
        assert (ended.result, function in ended.text) == (LOST, True)
    assert program.do(line).result is usually


def test_a_function_without_a_result_returns_nothing_when_it_is_refused(
    ruled: RuledEmulator, program: Scripted
) -> None:
    for action in ("refuse", "fail_late"):
        with ruled.rule(f"api.zerTranslateDeviceHandleToIdentifier {action}"):
            assert program.get("identifier") == f"{(1 << 32) - 1:#x}"
    assert program.get("identifier") == "0"


def test_handles_that_the_library_counts_stay_right_while_rules_come_and_go(
    ruled: RuledEmulator, program: Scripted
) -> None:
    pointer = program.get("device 65536")
    before = ruled.audit()
    handles = [program.get(f"get {pointer}") for _ in range(2)]
    with ruled.rule("api.zeMemPutIpcHandle refuse"):
        handles.append(program.get(f"get {pointer}"))
        assert program.do(f"put {handles[0]}").result is ZeResult.ZE_RESULT_ERROR_UNKNOWN
    assert len(set(handles)) == 1
    for handle in handles:
        assert ruled.audit().exports == before.exports + 1
        program.get(f"put {handle}")
    assert ruled.audit() == before


def test_the_first_call_of_a_program_can_be_refused(script: Path, ruled: RuledEmulator) -> None:
    with (
        scripted(script, ruled.path, starts=False) as program,
        ruled.rule("api.zeInit refuse=ZE_RESULT_ERROR_UNINITIALIZED times=1"),
    ):
        ended = program.do("start")
        assert ended.result is ZeResult.ZE_RESULT_ERROR_UNINITIALIZED
        assert "zeInit was not carried out" in ended.text
        program.get("start")


def test_rules_select_by_program_thread_and_count(
    script: Path, ruled: RuledEmulator, program: Scripted
) -> None:
    with scripted(script, ruled.path) as other:
        pid = other.process.pid
        line = f"api.zeMem* refuse pid={pid} thread={pid} process=script* nth=2"
        with ruled.rule(line) as name:
            assert program.do("host 4096").result is SUCCESS
            assert other.do("host 4096").result is SUCCESS
            assert other.do("host 4096").result is ZeResult.ZE_RESULT_ERROR_UNKNOWN
            assert other.do("host 4096").result is SUCCESS
            assert ruled.fired(name) == 1


def test_a_sweep_counts_calls_that_never_reach_the_driver(
    ruled: RuledEmulator, program: Scripted
) -> None:
    program.get("event")
    counted = ("EventQueryStatus", "ImageDestroy", "MemGetAllocProperties", "MemAllocHost")
    names = [*(f"api.ze{name}" for name in counted), "peer.inside", "peer.after"]
    before = [ruled.reached(name) for name in names]
    ruled.count_all()
    for line in ("query", "image", "image", "type 0x10", "host 4096"):
        program.do(line)
    ruled.count_all(wanted=False)
    program.do("image")
    passed = [ruled.reached(name) - one for name, one in zip(names, before, strict=True)]
    # Between them the program asks for the error description, which is a call, too.
    assert passed[:4] == [1, 2, 1, 1]
    assert passed[4] > 0
    assert passed[5] >= 5


def test_points_have_the_numbers_of_the_librarys_functions() -> None:
    names = [name.removeprefix("api.") for name in points() if name.startswith("api.")]
    served = interface().functions
    assert served
    for number, spec in served.items():
        if number < len(names):
            assert names[number] == spec.name
        else:
            # A vendor's function stands in no facts, and has no point.
            assert spec.name not in names
