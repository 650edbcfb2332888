"""What a failure says: see `inner/failing.py`."""

from __future__ import annotations

from typing import Final

import pytest

from tests.harness.inner_pytest import Run, run_inner

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SAYS: Final[dict[str, list[str]]] = {
    "an_allocation_is_left": [
        "Leaked: the test left 2 behind in its driver:",
        "  device allocation 0x",
        "  host allocation 0x",
    ],
    "a_list_is_left": ["Leaked: the test left 1 behind in its driver:", "command list"],
    "a_descriptor_is_left": [
        "Leaked: the test left behind:",
        "1 descriptor of this process: ",
        " is /dev/null",
    ],
    "a_driver_is_left": [
        "4 descriptors of this process: ",
        "2 mappings of a driver: reserved addresses at 0x",
        "/memfd:emuzero-segment (deleted) at 0x",
        "on device 0: 1 more clients, 81,920 more bytes of device memory, 1 more memory objects",
        "clients now: ",
    ],
    "the_test_fails_by_itself": ["AssertionError: as it wanted"],
    "the_emulator_dies": ["EmulatorFailed: the emulator died: SIGKILL ended it; its log:"],
    "the_emulator_dies_unseen": [
        "EmulatorFailed: the emulator died during the test: SIGKILL ended it; its log:"
    ],
    "the_emulator_does_not_start": [
        "EmulatorFailed: the emulator did not start: it ended with exit status 2; its log:",
        "there is no key vram; did you mean vram_size?",
    ],
    "the_marker_is_wrong": ["the marker emuzero has device; it takes devices, vram, spec"],
    "the_profile_is_wrong": ["the marker emuzero, profile: 'other', expected spec or intel"],
    "a_program_leaves_memory": [
        "it did not free: device memory, 0x1000 bytes; device memory, 0x1000 bytes; context#2",
        "--- its stdout ---\nE       done",
        "- emuzero: trace -",
        "zeMemAllocDevice(hContext=context#2, device_desc={}, size=0x1000",
    ],
    "a_program_ends_badly": [
        "kill -SEGV $$: SIGSEGV ended it, expected exit status 0",
        "--- its stdout ---\nE       said",
        "--- its stderr ---\nE       cried",
    ],
    "a_program_does_not_end": ["no end after 0.5 s", "--- its stdout ---\nE       begun"],
    "there_is_no_such_program": [
        "ProgramFailed: /no/such/program cannot be started: No such file or directory"
    ],
    "one_process_raises": [
        "ProcessFailed: importer failed after step 'start':",
        ", in fail\n",
        "ValueError: a reason",
        "--- output of importer ---\nE       words of the one that fails",
        # Whether it had begun to wait for a value by then is chance.
        "exporter was released",
    ],
    "one_process_dies": [
        "ProcessFailed: importer died after step 'start': SIGSEGV ended it",
        " in die\n",
        "exporter was released",
    ],
    "one_process_exits": [
        "ProcessFailed: importer died after step 'start': it ended with exit status 4"
    ],
    "processes_wait_for_nothing": [
        "ProcessFailed: waiting for the end of all, which cannot come: exporter stands waiting ",
        "; importer stands waiting for 'what nobody sends', after step 'start'",
    ],
    "one_process_takes_too_long": [
        "ProcessFailed: waiting for the end of all, not within 0.3 s: exporter stands waiting for ",
        "; importer is at work after step 'start'",
        " in turn\n",
    ],
    "processes_are_not_joined": ["ProcessFailed: the test ended without `join`: exporter runs"],
    "a_function_of_a_test_cannot_be_run": [
        "<lambda> is made inside of a function: a child process finds functions of modules only"
    ],
    "a_value_cannot_be_sent": [
        "ProcessFailed: exporter failed:",
        "ValueRefused: only what JSON has, and bytes, can be sent: object <object object",
    ],
    "there_is_no_such_command": [
        "ProcessFailed: exporter died: it ended with exit status 1",
        "FileNotFoundError: [Errno 2] No such file or directory",
    ],
}
"""What the failures of tests say, by their names without `test_`."""

_RUNS: list[Run] = []


@pytest.fixture(name="run")
def run_once(pytester: pytest.Pytester, programs: None) -> Run:
    """Return the one run that all tests of this process look at."""
    if not _RUNS:
        _RUNS.append(run_inner(pytester, "failing", "--emuzero-seed=7", "--emuzero-artefacts=kept"))
    return _RUNS[0]


@pytest.mark.parametrize("test", SAYS)
def test_a_failure_says_what_is_wrong(run: Run, test: str) -> None:
    said = run.failures[f"test_{test}"]

    assert [text for text in SAYS[test] if text not in said] == [], said


def test_a_shared_emulator_tells_at_the_end_of_the_session(run: Run) -> None:
    last = "".join(run.failures.values())

    assert "Leaked: the session left behind:" in last


def test_each_test_fails_once(run: Run) -> None:
    outcomes = run.result.parseoutcomes()

    assert outcomes["failed"] + outcomes["errors"] == len(SAYS) + 1


def test_a_test_that_failed_is_not_told_of_leaks(run: Run) -> None:
    assert "Leaked" not in run.failures["test_the_test_fails_by_itself"]


def test_a_report_tells_seed_and_devices(run: Run) -> None:
    said = run.failures["test_the_test_fails_by_itself"]

    assert "7; the same again: --emuzero-seed=7" in said
    assert "device 0: RUNNING; client_count 1, " in said


def test_what_is_known_is_kept_in_files(run: Run) -> None:
    kept = run.folder / "kept" / "test_failing.py_test_a_program_leaves_memory"

    assert {path.name for path in kept.iterdir()} == {
        "devices.json",
        "emulator.log",
        "programs.trace",
        "report.txt",
        "seed.txt",
    }
    assert (kept / "seed.txt").read_text() == "7\n"
    assert "leaves, begins" in (kept / "emulator.log").read_text()
    assert (kept / "programs.trace").stat().st_size > 1000
