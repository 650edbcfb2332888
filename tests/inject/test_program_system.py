"""System calls of drivers of C programs that fail: the right error, and nothing left."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from hostdriver.core.results import ZeResult
from tests.harness.scripted import scripted

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.ruled_emulator import RuledEmulator
    from tests.harness.scripted import Scripted


class Case(NamedTuple):
    """A call that passes a point, what has to be there before, and what undoes it."""

    point: str
    line: str
    undo: str = ""
    before: str = ""


CASES = [
    Case("map", "host 4096", "free"),
    Case("receive", "host 4096", "free"),
    Case("send", "host 4096", "free"),
    Case("map", "event", "unevent"),
    Case("receive", "event", "unevent"),
    Case("send", "event", "unevent"),
    Case("ticket", "get {}", "put", "device 65536"),
    Case("dup", "descriptor {}", before="file 65536"),
    Case("send", "descriptor {}", before="file 65536"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.point}-{case.line}")
@pytest.mark.parametrize("error", ["EMFILE", "EPERM"])
def test_a_call_whose_system_call_fails_leaves_nothing_and_works_again(
    case: Case, error: str, ruled: RuledEmulator, program: Scripted
) -> None:
    line = case.line.format(program.get(case.before) if case.before else "")
    for _ in range(2):
        # What a driver makes once for many calls is made at the first time: it is not left behind.
        before, held = ruled.audit(), program.held()
        with ruled.rule(f"os.driver.{case.point} errno={error}"):
            ended = program.do(line)
        assert ended.result is ZeResult.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, ended
        assert (ruled.audit(), program.held()) == (before, held)
        made = program.get(line)
        if case.undo not in {"free", "put"}:
            return
        program.get(f"{case.undo} {made}")


@pytest.mark.parametrize("point", ["duplicate", "send"])
def test_a_descriptor_that_cannot_be_taken_or_sent_is_not_imported(
    point: str, ruled: RuledEmulator, program: Scripted
) -> None:
    exporting = program.get("file 65536")
    number = int(program.get(f"descriptor {exporting}"), 0)
    before, held = ruled.audit(), program.held()
    with ruled.rule(f"os.driver.{point} errno=EPERM name=mine"):
        ended = program.do(f"import {number}")
    assert ended.result is ZeResult.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
    assert "injected by rule 'mine'" in ended.text
    assert (ruled.audit(), program.held()) == (before, held)
    program.get(f"free {program.get(f'import {number}')}")


def test_a_reservation_that_fails_where_it_was_wanted_is_made_elsewhere(
    ruled: RuledEmulator, program: Scripted
) -> None:
    wanted = program.get("reserve 2097152")
    program.get(f"unreserve {wanted}")
    with ruled.rule("os.driver.reserve errno=EEXIST"):
        other = program.get("reserve 2097152")
    assert other != wanted
    program.get(f"unreserve {other}")
    assert program.get("reserve 2097152") == wanted


def test_points_tell_addresses_sizes_and_calls(ruled: RuledEmulator, program: Scripted) -> None:
    line = "os.driver.map errno=EMFILE call=zeMemAllocHost space=65536"
    with ruled.rule(line) as name:
        assert program.do("event").result is ZeResult.ZE_RESULT_SUCCESS
        assert program.do("host 65536").result is ZeResult.ZE_RESULT_SUCCESS
        assert not ruled.fired(name)
        assert program.do("host 4096").result is ZeResult.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY


@pytest.mark.parametrize("line", ["free", "close"])
def test_memory_that_cannot_be_taken_out_of_sight_is_gone_and_its_addresses_are_kept(
    line: str, script: Path, ruled: RuledEmulator, program: Scripted
) -> None:
    """A process at its limit of mappings cannot do that: the call frees all the same."""
    with scripted(script, ruled.path) as other:
        handle = other.get(f"get {other.get('host 4096')}")
        opened = other.get(f"open {handle}")
        pointer = opened if line == "close" else other.get("host 4096")
        before = ruled.audit()
        with ruled.rule("os.driver.protect errno=ENOMEM"):
            other.get(f"{line} {pointer}")
        assert ruled.audit() != before
        # What comes next finds them inaccessible again.
        other.get(f"free {other.get('host 4096')}")
        assert other.do(f"{line} {pointer}").result is ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT
