"""`emuzero run --summary`: what each process called, moved and did not free."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hostdriver.channel.account import (
    Account,
    Allocated,
    FunctionCount,
    Left,
    LeftHandle,
    MetFault,
)
from hostdriver.cli.summary import MOST_LISTED, summary_of
from hostdriver.cli.trace.vocabulary import functions
from tests.harness.commandline import emuzero

Compile = Callable[[str], Path]
NUMBERS = {function.name: number for number, function in enumerate(functions())}


def counts(text: str, function: str) -> tuple[int, int]:
    """Return calls and errors of a function, as one process's summary tells them."""
    found = re.search(rf"^  {function} +([\d,]+) +([\d,]+) ", text, re.MULTILINE)
    assert found, text
    return int(found[1]), int(found[2])


def processes(text: str) -> list[str]:
    """Return the parts of a summary, one a process, the child's first: it ends first."""
    return text.split("emuzero: process ")[1:]


def test_a_program_that_leaves_things_is_told_of_them(compile_program: Compile) -> None:
    program = compile_program("leaves")

    done = emuzero("run", "--vram", "64MiB", "--summary", "--", program, "fault")

    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    child, parent = processes(done.stderr)
    assert counts(parent, "zeMemAllocDevice") == (3, 1)
    assert counts(parent, "zeMemAllocHost") == (1, 0)
    assert counts(parent, "zeMemFree") == (2, 1)
    assert counts(parent, "zeInit") == (1, 0)
    assert counts(parent, "zeMemGetAddressRange") == (1, 0)
    assert "allocated  2 device (8 KiB), 1 host (4 KiB)" in parent
    assert "4 KiB copied, 4 KiB filled" in parent
    assert re.search(r"faults     NOT_PRESENT at 0x", parent), parent
    assert len(re.findall(r"device memory, 4 KiB at 0x", parent)) == 2
    assert re.search(r"reserved addresses, 2 MiB at 0x", parent)
    assert len(re.findall(r"command list#\d+", parent)) == 2
    assert "host memory" not in parent
    assert counts(child, "zeContextDestroy") == (1, 0)
    assert "allocated  nothing" in child
    assert "not freed  none\n  handles    none" in child


def test_a_program_that_is_killed_is_told_of_too(compile_program: Compile) -> None:
    done = emuzero(
        *("run", "--vram", "64MiB", "--summary", "--"),
        *("sh", "-c", f'"{compile_program("leaves")}"; kill -KILL $$'),
    )

    assert done.returncode == 137
    assert len(processes(done.stderr)) == 2


def test_a_program_without_the_library_is_said_to_be_one() -> None:
    done = emuzero("run", "--vram", "64MiB", "--summary", "--", sys.executable, "-c", "print(1)")

    assert (done.returncode, done.stdout) == (0, "1\n")
    assert done.stderr == "emuzero: no process of the program used the C library\n"


@pytest.fixture(name="account")
def make_account() -> Account:
    return Account(
        pid=7,
        name="it",
        calls=[
            FunctionCount(NUMBERS["zeMemFree"], 1200, 3, 2_500_000, 900),
            FunctionCount(NUMBERS["zeInit"], 1, 0, 4_000_000, 4_000_000),
        ],
        allocated=[Allocated("device", 2, 3 << 20)],
        copied_bytes=1 << 30,
        filled_bytes=0,
        commands=1,
        faults=[MetFault(0, "NOT_PRESENT", 0x7000)],
        fault_count=4,
        left=[Left("physical device memory", 0, 65536)],
        left_count=1,
        left_bytes=65536,
        handles=[LeftHandle("event", number) for number in range(30)],
        handle_count=1000,
    )


def test_the_slowest_function_comes_first(account: Account) -> None:
    lines = list(summary_of(account))

    assert lines[0] == "emuzero: process 7, it"
    assert [line.split()[0] for line in lines[2:4]] == ["zeInit", "zeMemFree"]
    assert lines[3].split()[1:] == ["1,200", "3", "2.5", "ms", "900", "ns"]


def test_what_is_too_much_to_list_is_counted(account: Account) -> None:
    text = "\n".join(summary_of(account))

    assert "faults     NOT_PRESENT at 0x7000\n             and 3 more" in text
    assert "not freed  physical device memory, 64 KiB\n" in text
    assert f"and {1000 - MOST_LISTED} more" in text
    assert text.count("event#") == MOST_LISTED
