"""`emuzero sweep`, as people use it: real programs, each run with an emulator of its own."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.commandline import start

if TYPE_CHECKING:
    from tests.sweep.conftest import Sweeps

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CAREFUL = """
from hostdriver import levelzero as ze

with ze.connect() as driver, driver.create_context() as context:
    pointer = context.mem_alloc_device(driver.devices[0], 1 << 16)
    context.memory_write(pointer, b"hello")
    print(context.memory_read(pointer, 5))
    context.mem_free(pointer)
"""
CARELESS = """
import os, signal, time
from hostdriver import levelzero as ze

with ze.connect() as driver, driver.create_context() as context:
    try:
        context.mem_alloc_device(driver.devices[0], 1 << 16)
    except ze.ZeError:
        %s
    print("done")
"""
"""What a program does whose allocation failed, and which thinks that nothing can fail."""
PARENT = """
import subprocess, sys
from hostdriver import levelzero as ze

with ze.connect() as driver, driver.create_context() as context:
    pointer = context.mem_alloc_device(driver.devices[0], 1 << 16)
    if len(sys.argv) == 1:
        subprocess.run([sys.executable, __file__, "child"], check=True)
    context.mem_free(pointer)
"""
FORGETFUL = """
from hostdriver import levelzero as ze

try:
    with ze.connect() as driver, driver.create_context() as context:
        context.mem_alloc_device(driver.devices[0], 1 << 16)
except ze.ZeError:
    print("oops")
"""


def test_a_careful_program_handles_each_site_and_the_reports_say_so(
    sweep: Sweeps, tmp_path: Path
) -> None:
    found = sweep(CAREFUL, "--point", "memory.*", "--most", "2", "--output", str(tmp_path / "o"))
    assert found.returncode == 0, found.stderr + found.stdout
    document = json.loads((tmp_path / "o" / "report.json").read_text("utf-8"))
    rows = {row["point"]: row for row in document["points"]}
    assert rows["memory.allocate"]["armed"] == rows["memory.allocate"]["fired"] == 2
    assert rows["memory.access"]["fired"] >= 1
    assert document["outcomes"]["handled"] == document["cells"] == len(document["runs"])
    assert "peer.handle" in document["never_reached"]
    assert (tmp_path / "o" / "junit.xml").exists()
    assert "To look at: 0" in (tmp_path / "o" / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("body", "outcome", "options"),
    [
        ("print('oops')", "wrong result", ()),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crash", ()),
        ("time.sleep(1000)", "hang", ("--timeout", "20")),
        ("os._exit(3)", "handled", ()),
    ],
)
def test_what_a_careless_program_does_is_told_apart_with_the_command_that_repeats_it(
    sweep: Sweeps, body: str, outcome: str, options: tuple[str, ...]
) -> None:
    # The first allocation of frames is the program's address space; the last is its memory.
    found = sweep(
        CARELESS % body,
        "--fault",
        "memory.allocate fail",
        "--most",
        "2",
        *options,
    )
    assert f"1 {outcome}" in found.stdout or f"2 {outcome}" in found.stdout, found.stdout
    assert found.returncode == (0 if outcome == "handled" else 1)
    if outcome != "handled":
        assert "emuzero run --vram" in found.stdout
        assert "'memory.allocate fail nth=" in found.stdout


def test_the_calls_of_a_program_whose_driver_is_its_own_fail_too(sweep: Sweeps) -> None:
    found = sweep(CAREFUL, "--point", "api.zeMemAllocDevice", "--point", "api.zeMemFree")
    assert found.returncode == 0, found.stderr + found.stdout
    assert "2 handled" in found.stdout


def test_each_process_of_a_program_has_its_sites_tried(sweep: Sweeps, tmp_path: Path) -> None:
    found = sweep(PARENT, "--point", "api.zeMemFree", "--output", str(tmp_path / "o"))
    assert found.returncode == 0, found.stderr + found.stdout
    document = json.loads((tmp_path / "o" / "report.json").read_text("utf-8"))
    assert [(run["cell"], run["trial"]["fired"]) for run in document["runs"]] == [
        ("api.zeMemFree refuse driver=1 nth=1", 1),
        ("api.zeMemFree refuse driver=2 nth=1", 1),
    ]


def test_a_sweep_that_was_made_is_not_made_again(sweep: Sweeps, tmp_path: Path) -> None:
    options = ("--point", "dma.*", "--most", "1", "--output", str(tmp_path / "o"))
    assert sweep(CAREFUL, *options).returncode == 0
    ledger = tmp_path / "o" / "sweep.jsonl"
    before = ledger.read_bytes()
    again = sweep(CAREFUL, *options)
    assert again.returncode == 0
    assert "going on, 1 of 1 runs are done" in again.stderr
    assert ledger.read_bytes() == before
    other = sweep(CAREFUL, *options, "--seed", "3")
    assert other.returncode == 2
    assert "of another sweep" in other.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_sweep_that_is_ended_takes_program_and_emulator_with_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    os.mkfifo(tmp_path / "told")
    body = f"""
import os, time

with open({str(tmp_path / "told")!r}, "w") as told:
    told.write(f"{{os.getpid()}} {{os.environ['EMUZERO_SOCKET']}}")
time.sleep(1000)
"""
    process = start("sweep", "--vram", "64MiB", "--", sys.executable, "-c", body)
    pid, _, path = (tmp_path / "told").read_text("utf-8").partition(" ")
    assert Path(path).exists()

    process.send_signal(number)
    process.communicate(timeout=60)

    assert process.returncode == 128 + number
    # The emulator's folder goes when it has ended.
    assert not Path(path).parent.exists()
    assert not Path("/proc", pid).exists()


def test_minimising_leaves_the_rules_that_are_needed(sweep: Sweeps, tmp_path: Path) -> None:
    scenario = tmp_path / "many.yaml"
    scenario.write_text(
        "rules:\n"
        "  - memory.access correctable\n"
        "  - dma.transfer delay=0.001\n"
        "  - memory.allocate fail\n"
    )
    found = sweep(FORGETFUL, "--minimise", str(scenario))
    assert found.returncode == 0, found.stderr
    assert [rule["point"] for rule in json.loads(found.stdout)["rules"]] == ["memory.allocate"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--point", "nowhere.*"), "no point is called 'nowhere.*'"),
        (("--fault", "memory.allocate drop"), "does not take 'drop'"),
        (("--minimise", "/nonexistent.yaml"), "No such file"),
    ],
)
def test_a_wrong_command_line_runs_nothing(
    sweep: Sweeps, options: tuple[str, ...], told: str
) -> None:
    found = sweep("raise SystemExit(77)", *options)
    assert found.returncode == 2
    assert told in found.stderr


def test_a_program_that_cannot_be_started_is_said(sweep: Sweeps) -> None:
    found = sweep("import os; os.abort()", "--point", "dma.*")
    assert found.returncode == 1
    assert "crashes by itself" in found.stderr
