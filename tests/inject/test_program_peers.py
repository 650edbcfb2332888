"""Programs that die or stop at a point of their calls, and handles that change on their way."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from firmware.abi.ipc import IpcHandle
from hostdriver.core.results import ZeResult
from tests.harness.ruled_emulator import ruled_emulator
from tests.harness.scripted import scripted

if TYPE_CHECKING:
    from tests.harness.ruled_emulator import RuledEmulator
    from tests.harness.scripted import Scripted

INVALID = ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT


def state_of(pid: int) -> str:
    """Return the letter that the system has for what a process does."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]


def await_stop(program: Scripted) -> None:
    """Return when the program was stopped."""
    _, status = os.waitpid(program.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert os.WSTOPSIG(status) == signal.SIGSTOP


@pytest.mark.parametrize("point", ["before", "inside", "after"])
def test_a_program_that_is_killed_in_a_call_leaves_nothing(
    point: str, script: Path, ruled: RuledEmulator, program: Scripted
) -> None:
    before = ruled.audit()
    with scripted(script, ruled.path) as victim:
        victim.get("host 4096")
        with ruled.rule(f"peer.{point} kill call=zeMemAllocHost pid={victim.process.pid}"):
            victim.say("host 4096")
            assert victim.process.wait() == -signal.SIGKILL
        assert ruled.audit() == before
    assert program.get("host 4096")


@pytest.mark.parametrize("point", ["before", "inside", "after"])
def test_a_stopped_program_goes_on_when_the_rule_goes(
    point: str, ruled: RuledEmulator, program: Scripted
) -> None:
    name = ruled.add(f"peer.{point} stop call=zeMemAllocHost times=1")
    program.say("host 4096")
    await_stop(program)
    assert ruled.fired(name) == 1
    ruled.remove(name)
    assert program.hear().result is ZeResult.ZE_RESULT_SUCCESS


def test_a_stopped_program_goes_on_while_other_rules_stay(
    ruled: RuledEmulator, program: Scripted
) -> None:
    stays = ruled.add("peer.before stop call=zeMemFree")
    name = ruled.add("peer.before stop call=zeMemAllocHost")
    program.say("host 4096")
    await_stop(program)
    ruled.remove(name)
    assert program.hear().result is ZeResult.ZE_RESULT_SUCCESS
    ruled.remove(stays)


def test_a_stopped_program_goes_on_when_its_time_is_over(
    ruled: RuledEmulator, program: Scripted
) -> None:
    with ruled.rule("peer.inside stop=0.1 call=zeMemAllocHost times=1"):
        program.say("host 4096")
        await_stop(program)
        assert program.hear().result is ZeResult.ZE_RESULT_SUCCESS


def test_a_stopped_program_goes_on_when_the_emulator_ends(script: Path, tmp_path: Path) -> None:
    with ruled_emulator(tmp_path) as ruled, scripted(script, ruled.path) as program:
        ruled.add("peer.before stop call=zeMemAllocHost")
        program.say("host 4096")
        await_stop(program)
        assert ruled.process.end() == 0
        assert program.hear().result is ZeResult.ZE_RESULT_ERROR_DEVICE_LOST


def test_stopping_one_program_holds_up_no_other(
    script: Path, ruled: RuledEmulator, program: Scripted
) -> None:
    with scripted(script, ruled.path) as other:
        name = ruled.add(f"peer.inside stop pid={program.process.pid} times=1")
        program.say("host 4096")
        await_stop(program)
        assert state_of(program.process.pid) == "T"
        assert other.do("host 4096").result is ZeResult.ZE_RESULT_SUCCESS
        ruled.remove(name)
        assert program.hear().result is ZeResult.ZE_RESULT_SUCCESS


@pytest.fixture(name="handle")
def make_handle(program: Scripted) -> str:
    return program.get(f"get {program.get('device 65536')}")


@pytest.mark.parametrize(
    "action",
    [
        "flip field=token",
        "flip=7 field=size_bytes",
        "flip field=emulator_id mask=0x80",
        "flip field=check",
        "set=kind value=3",
        "set=token value=0",
        "set=version value=9",
        "set=device_index value=1",
        "replay",
    ],
)
def test_whoever_opens_a_changed_handle_is_told_and_nobody_else_is_harmed(
    action: str, handle: str, script: Path, ruled: RuledEmulator
) -> None:
    with scripted(script, ruled.path) as opener:
        before, held = ruled.audit(), opener.held()
        with ruled.rule(f"peer.handle {action} process=scripted"):
            ended = opener.do(f"open {handle}")
        assert ended.result is INVALID, ended
        assert (ruled.audit(), opener.held()) == (before, held)
        opener.get(f"close {opener.get(f'open {handle}')}")


def test_a_handle_that_was_put_comes_once_more(
    handle: str, script: Path, ruled: RuledEmulator, program: Scripted
) -> None:
    with scripted(script, ruled.path) as opener:
        with ruled.rule("peer.handle replay"):
            old = program.get(f"get {program.get('device 65536')}")
            program.get(f"put {old}")
            ended = opener.do(f"open {handle}")
        assert ended.result is INVALID
        assert "it was put" in ended.text
        opener.get(f"close {opener.get(f'open {handle}')}")


def test_another_descriptor_number_alone_opens_the_memory_that_the_handle_names(
    handle: str, script: Path, ruled: RuledEmulator
) -> None:
    """Programs write numbers of their own there: what is no descriptor of ours does not count."""
    number = int.from_bytes(bytes.fromhex(handle)[: IpcHandle.FIELDS[0].size], "little") + 1000
    with scripted(script, ruled.path) as opener:
        with ruled.rule(f"peer.handle set=descriptor value={number}"):
            opened = opener.get(f"open {handle}")
        opener.get(f"close {opened}")
