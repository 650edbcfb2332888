"""`emuzero trace`: a line each call, with the commands that it caused; kept and read again."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firmware.abi.trace import TraceHeader, TraceKind, TraceRecord
from tests.harness.commandline import emuzero

Compile = Callable[[str], Path]
SMALL = ("--vram", "64MiB")


@pytest.fixture(name="kept", scope="module")
def make_kept(compile_program: Compile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace of a program with two threads, a child, errors and a fault."""
    file = tmp_path_factory.mktemp("kept") / "run.trace"
    done = emuzero("trace", *SMALL, "--output", file, "--", compile_program("leaves"), "fault")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    return file


def read(file: Path, *options: str) -> list[dict[str, Any]]:
    """Return a trace as objects."""
    done = emuzero("trace", *options, "--json", file)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def calls(told: list[dict[str, Any]], function: str) -> list[dict[str, Any]]:
    return [one for one in told if one["kind"] == "call" and one["function"] == function]


def records(data: bytes | bytearray) -> list[tuple[int, TraceRecord]]:
    """Return where each record begins."""
    found: list[tuple[int, TraceRecord]] = []
    at = TraceHeader.SIZE
    while at < len(data):
        record = TraceRecord.unpack(data[at : at + TraceRecord.SIZE])
        assert isinstance(record, TraceRecord)
        found.append((at, record))
        at += TraceRecord.SIZE + record.size
    return found


def test_every_call_is_a_line_with_arguments_result_and_time(compile_program: Compile) -> None:
    done = emuzero("trace", *SMALL, "--", compile_program("leaves"))

    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    lines = done.stderr.splitlines()
    free = next(line for line in lines if "zeMemFree(" in line and "SUCCESS" in line)
    assert re.fullmatch(
        r" +\d+\.\d{6} \d+ zeMemFree\(hContext=context#2, ptr=0x[0-9a-f_]+\)"
        r" = ZE_RESULT_SUCCESS <[\d.]+ [mu]?s>",
        free,
    ), free
    host = next(line for line in lines if "zeMemAllocHost(" in line)
    assert re.search(r" \d+/\d+ zeMemAllocHost\(hContext=context#2, host_desc=\{\}, size=", host)
    assert "size=0x1000, alignment=0) = ZE_RESULT_SUCCESS pptr=0x" in host
    refused = next(line for line in lines if "UNSUPPORTED_SIZE" in line)
    assert 'size=0, alignment=0, hDevice=device#1) = ZE_RESULT_ERROR_UNSUPPORTED_SIZE "' in refused
    here = next(line for line in lines if "NULL_POINTER" in line)
    assert "zeMemFree(hContext=context#2, ptr=NULL) = ZE_RESULT_ERROR_INVALID_NULL_POINTER" in here
    assert here.endswith("in the library>")
    assert not any("> device" in line for line in lines)


def test_the_commands_of_a_call_stand_behind_it(kept: Path) -> None:
    done = emuzero("trace", "--ring", kept)

    text = done.stdout
    copied = text[text.index("zeCommandListAppendMemoryCopy(") :]
    own = copied.splitlines()[1:]
    own = own[: next(i for i, line in enumerate(own) if not line.startswith("      "))]
    assert any(re.match(r"      > device 0 queue \d+: Copy source=0x", line) for line in own), own
    assert re.search(r"  ! device 0 fault: FaultRecord .*reason=NOT_PRESENT", text)
    assert re.search(r"  > device 0 control: Allocate .*\n  +< device 0 reply: Allocated ", text)


def test_a_trace_that_was_kept_tells_all_processes_and_threads(kept: Path) -> None:
    told = read(kept)

    begun = [one for one in told if one["kind"] == "begin"]
    assert [one["program"] for one in begun] == ["leaves", "leaves"]
    parent, child = (one["pid"] for one in begun)
    assert parent != child
    [destroyed] = calls(told, "zeContextDestroy")
    assert destroyed["pid"] == child
    [host] = calls(told, "zeMemAllocHost")
    assert host["pid"] == parent
    assert host["thread"] not in {parent, child}
    assert host["outputs"]["pptr"] > 0
    assert host["arguments"]["host_desc"]["flags"] == 0
    assert 0 < host["taken"] < 60e9
    ended = [one for one in told if one["kind"] == "end"]
    assert [one["pid"] for one in ended] == [child, parent]
    account = ended[1]["account"]
    assert account["copied_bytes"] == 4096
    assert account["left_count"] == 3


def test_calls_that_the_library_answers_are_there_in_their_place(kept: Path) -> None:
    told = [one for one in read(kept) if one["kind"] == "call"]

    first = [one["function"] for one in told[:4]]
    assert first == ["zeInit", "zeDriverGet", "zeDeviceGet", "zeContextCreate"]
    [refused] = [one for one in calls(told, "zeMemFree") if one["local"]]
    assert refused["result"] == "ZE_RESULT_ERROR_INVALID_NULL_POINTER"
    assert refused["error"] == "argument 2 of zeMemFree is null"
    assert refused["arguments"] == {"hContext": "context#2", "ptr": None}


def test_what_the_library_could_answer_goes_to_the_driver_of_a_traced_program(kept: Path) -> None:
    [asked] = calls(read(kept), "zeMemGetAddressRange")

    assert not asked["local"]
    assert asked["outputs"] == {"pBase": asked["arguments"]["ptr"], "pSize": 4096}


def test_a_filter_shows_what_matches_alone(kept: Path) -> None:
    told = read(kept, "--filter", "zeMem*", "--filter", "zeInit")

    functions = {one["function"] for one in told if one["kind"] == "call"}
    assert functions == {
        *("zeInit", "zeMemAllocDevice", "zeMemAllocHost", "zeMemFree", "zeMemGetAddressRange")
    }
    assert not read(kept, "--filter", "nothing")[0].get("function")


def test_commands_are_objects_where_they_are_asked_for(kept: Path) -> None:
    assert "commands" not in calls(read(kept), "zeMemFree")[0]
    [copied] = calls(read(kept, "--ring"), "zeCommandListAppendMemoryCopy")

    assert {"work"} == {command["what"] for command in copied["commands"]}
    assert any(command["text"].startswith("Copy source=0x") for command in copied["commands"])


def test_the_exit_code_is_the_programs() -> None:
    assert emuzero("trace", *SMALL, "--", "sh", "-c", "exit 7").returncode == 7


def test_a_call_of_which_no_return_is_told_did_not_return(kept: Path) -> None:
    data = kept.read_bytes()
    last = [at for at, record in records(data) if record.kind is TraceKind.RETURN][-1]
    cut = kept.with_name("cut.trace")
    cut.write_bytes(data[:last])

    told = read(cut)

    assert told[-1]["kind"] == "call"
    assert told[-1]["result"] is None
    assert "did not return" in emuzero("trace", cut).stdout.splitlines()[-1]


def test_a_file_that_breaks_off_is_shown_up_to_there(kept: Path) -> None:
    data = kept.read_bytes()
    at, _ = records(data)[30]
    cut = kept.with_name("broken.trace")
    cut.write_bytes(data[: at + 11])

    done = emuzero("trace", cut)

    assert done.returncode == 1
    assert "zeInit(" in done.stdout
    assert done.stderr == (
        f"Error: {cut}: it ends at byte {at + 11:#x}: of the record that begins at byte {at:#x},"
        " 29 of 40 bytes are missing\n"
    )


def test_a_damaged_record_is_told_with_its_place(kept: Path) -> None:
    data = bytearray(kept.read_bytes())
    at, _ = records(data)[20]
    data[at + 4] = 99
    damaged = kept.with_name("damaged.trace")
    damaged.write_bytes(data)

    done = emuzero("trace", damaged)

    assert done.returncode == 1
    assert "zeInit(" in done.stdout
    assert f"what stands at byte {at:#x} is no record: TraceRecord.kind" in done.stderr


def test_arguments_that_are_none_are_told_with_their_place(kept: Path) -> None:
    data = bytearray(kept.read_bytes())
    begun = [(one.size, at) for at, one in records(data) if one.kind is TraceKind.CALL]
    size, at = max(begun)
    data[at + TraceRecord.SIZE : at + TraceRecord.SIZE + size] = b"\xff" * size
    damaged = kept.with_name("arguments.trace")
    damaged.write_bytes(data)

    done = emuzero("trace", damaged)

    assert done.returncode == 1
    assert f"the CALL at byte {at:#x} is damaged: " in done.stderr


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "it is no trace: its first bytes are missing, expected 31454d5a54524143"),
        (b"\x7fELF" + bytes(200), "it is no trace: its first bytes are 7f454c4600000000"),
        (b"1EMZTRAC" + bytes(10), "it ends at byte 0x12, inside of its header"),
        (b"1EMZTRAC" + bytes(56), "it has version 0, expected 1"),
        (b"1EMZTRAC\x01" + bytes(55), "another version of emuzero wrote it"),
    ],
    ids=["empty", "other", "short", "version", "interface"],
)
def test_what_is_no_trace_is_refused(data: bytes, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(data)

    done = emuzero("trace", file)

    assert done.returncode == 2
    assert f"{file}: {problem}" in done.stderr


def test_a_program_without_dashes_is_not_taken_for_a_file() -> None:
    done = emuzero("trace", "echo", "hello")

    assert done.returncode == 2
    assert "put -- before it" in done.stderr


def test_a_program_that_calls_nothing_is_no_silent_trace() -> None:
    done = emuzero("trace", *SMALL, "--", "true")

    assert (done.returncode, done.stderr) == (
        0,
        "emuzero: no process of the program used the C library\n",
    )
    assert emuzero("trace", *SMALL, "--json", "--", "true").stderr == ""


@pytest.mark.parametrize("name", ["sh", shutil.which("sh")])
def test_a_lone_program_without_dashes_is_told_what_to_write(name: str) -> None:
    done = emuzero("trace", name)

    assert done.returncode == 2
    assert done.stderr.endswith(f"; to trace the program: emuzero trace -- {name}\n")


def test_a_file_that_cannot_be_written_is_told_before_the_program_runs() -> None:
    done = emuzero("trace", "--output", "/nosuch/file", "--", "echo", "ran")

    assert (done.returncode, done.stdout) == (2, "")
    assert "/nosuch/file: No such file or directory" in done.stderr


@pytest.mark.slow
def test_a_traced_program_goes_on_when_nobody_reads(compile_program: Compile) -> None:
    done = emuzero("trace", *SMALL, "--output", "/dev/full", "--", compile_program("leaves"))

    assert (done.returncode, done.stdout) == (0, "done\n")
