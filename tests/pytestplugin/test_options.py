"""Settings, seed, workers: what the command line and the ini file say of a run."""

from __future__ import annotations

import re

import pytest

from tests.harness.inner_pytest import run_here

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.timeout(300)

SETTINGS = """
def test_the_file(emuzero_device):
    assert emuzero_device.statistics().vram_size == 64 << 20
    assert len(emuzero_device.report().devices) == {devices}
"""
WORKERS = """
import os
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(6))
def test_one(emuzero_device, emuzero_context, number):
    print("emulator", emuzero_device.pid)
    worker = os.environ["PYTEST_XDIST_WORKER"]
    with Path(os.environ["NOTES"]).open("a") as notes:
        notes.write(f"{worker} {emuzero_device.pid}\\n")
    assert number != 5
"""


@pytest.mark.slow
def test_the_command_line_counts_more_than_the_file(pytester: pytest.Pytester) -> None:
    settings = "emuzero_vram = 64MiB\nemuzero_devices = 2\n"
    pytester.makepyfile(SETTINGS.format(devices=3))

    run = run_here(pytester, "--emuzero-devices=3", settings=settings)

    assert run.failures == {}
    run.result.assert_outcomes(passed=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("--emuzero-devices=0", "emuzero_devices: 0, expected 1 or more"),
        ("--emuzero-scope=week", "emuzero_scope: 'week', expected test or session"),
        ("--emuzero-seed=x", "--emuzero-seed=x: expected a whole number"),
        (f"--emuzero-seed={1 << 64}", "expected a whole number of at most 64 bits"),
        ("--emuzero-trace=maybe", "emuzero_trace: 'maybe', expected true or false"),
    ],
)
def test_a_wrong_option_ends_the_run(pytester: pytest.Pytester, argument: str, text: str) -> None:
    run = run_here(pytester, argument)

    assert run.result.ret == pytest.ExitCode.USAGE_ERROR
    assert text in str(run.result.stderr)


@pytest.mark.slow
def test_the_seed_stands_in_the_header(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(): pass")

    first = run_here(pytester)
    found = re.search(r"^emuzero: --emuzero-seed=(\d+)$", str(first.result.stdout), re.MULTILINE)
    assert found is not None
    second = run_here(pytester, "--emuzero-seed=0x10")

    assert "emuzero: --emuzero-seed=16" in str(second.result.stdout)
    assert found[1] != "16"


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["test", "session"])
def test_each_worker_has_emulators_of_its_own(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    pytester.makepyfile(WORKERS)
    notes = pytester.path / "notes"
    monkeypatch.setenv("NOTES", str(notes))

    run = run_here(pytester, "-n", "2", f"--emuzero-scope={scope}", "--emuzero-artefacts=kept")

    run.result.assert_outcomes(passed=5, failed=1)
    pairs = {tuple(line.split()) for line in notes.read_text().splitlines()}
    workers = {worker for worker, _ in pairs}
    assert workers == {"gw0", "gw1"}
    assert len(pairs) == (6 if scope == "test" else 2)
    seed = re.search(r"^(\d+); the same again", run.failures["test_one[5]"], re.MULTILINE)
    assert seed is not None
    assert f"--emuzero-seed={seed[1]}" in str(run.result.stdout).split("created:")[0]
    (kept,) = (pytester.path / "kept").iterdir()
    assert (kept / "seed.txt").read_text() == f"{seed[1]}\n"
