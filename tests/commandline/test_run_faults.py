"""`emuzero run --fault`: rules for one program, a report, and what a scenario expects."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.harness.commandline import emuzero

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

LOSES = "device.round lost times=1 name=first"
PROGRAM = """
from hostdriver import levelzero as ze
try:
    with ze.connect(start=None) as driver:
        driver.create_context().mem_alloc_device(driver.devices[0], 4096)
except ze.ZeError as error:
    raise SystemExit(5) from error
"""


def run(
    *options: object, program: tuple[str, ...] = (sys.executable, "-c", PROGRAM), **env: str
) -> subprocess.CompletedProcess[str]:
    return emuzero("run", "--vram", "64MiB", *options, "--", *program, env=env)


def scenario(folder: Path, text: str, name: str = "scenario.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_fault_is_injected_and_told_of_and_the_exit_code_is_the_programs() -> None:
    done = run("--fault", LOSES, "--seed", "7")

    assert done.returncode == 5
    assert "emuzero: faults with seed 7\n  first  device.round lost" in done.stderr
    assert "fired 1" in done.stderr


@pytest.mark.slow
def test_a_run_without_faults_says_nothing_of_them() -> None:
    done = run()

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_report_has_rules_hits_coverage_and_the_exit_status(tmp_path: Path) -> None:
    run("--fault", LOSES, "--faults-report", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())

    assert (report["schema"], report["exit_status"], report["unmet"]) == (1, 5, [])
    assert [(rule["name"], rule["fired"]) for rule in report["rules"]] == [("first", 1)]
    assert [(hit["rule"], hit["site"]) for hit in report["hits"]] == [("first", {"device": 0})]
    (point,) = report["coverage"]["points"]
    assert (point["point"], point["layer"], point["fired"]) == ("device.round", "device", 1)
    assert "api.zeInit" in report["coverage"]["never_reached"]


@pytest.mark.slow
def test_a_scenario_that_expects_what_comes_ends_well(tmp_path: Path) -> None:
    text = f"rules: ['{LOSES}']\nexpect: {{exit_status: 5, fired: {{first: 1}}}}"

    done = run("--scenario", scenario(tmp_path, text))

    assert (done.returncode, "not as the scenario" in done.stderr) == (0, False)


def test_what_a_scenario_expects_in_vain_is_told_and_has_an_exit_code(tmp_path: Path) -> None:
    text = f"rules = ['{LOSES}']\n[expect]\nexit_status = 0\nfired = {{first = 2}}\nleaks = false"

    done = run("--scenario", scenario(tmp_path, text, "scenario.toml"))

    assert done.returncode == 4
    unmet = [line for line in done.stderr.splitlines() if "not as the scenario expects" in line]
    assert [line.partition("expects: ")[2] for line in unmet] == [
        "exit status 5, expected 0",
        "rule 'first' fired 1 times, expected 2",
        "whether anything leaked is not known: no process used the C library",
    ]


@pytest.mark.slow
def test_rules_of_environment_file_and_options_add_up(tmp_path: Path) -> None:
    text = "rules: ['mmu.walk fail_walk nth=9999 name=filed']\nseed: 3"

    done = run(
        *("--scenario", scenario(tmp_path, text), "--fault", "mmu.walk fail_walk nth=9999"),
        EMUZERO_FAULTS="mmu.entry flip nth=9999 name=a; mmu.entry flip nth=9999 name=b",
        EMUZERO_FAULTS_SEED="9",
    )

    names = [line.split()[0] for line in done.stderr.splitlines()[1:]]
    assert names == ["a", "b", "filed", "rule1"]
    assert "seed 3" in done.stderr


@pytest.mark.parametrize(
    ("options", "env", "told"),
    [
        (["--fault", "mmu.walk fly"], {}, "--fault: no action is called 'fly'"),
        ([], {"EMUZERO_FAULTS": "mmu.wlak drop"}, "EMUZERO_FAULTS: no point is called 'mmu.wlak'"),
        ([], {"EMUZERO_FAULTS": "@/nosuch.yaml"}, "EMUZERO_FAULTS: /nosuch.yaml: No such file"),
        ([], {"EMUZERO_FAULTS_SEED": "x"}, "EMUZERO_FAULTS_SEED: 'x' is no whole number"),
        (["--scenario", "/nosuch.toml"], {}, "/nosuch.toml: No such file"),
        (["--faults-report", "report"], {}, "--faults-report needs a --fault"),
        (["--fault", LOSES, "--faults-report", "/nosuch/report"], {}, "--faults-report /nosuch"),
        (["--fault", LOSES, "--fault", LOSES], {}, "two rules are called 'first'"),
        (["--fault", LOSES], {"PMIX_NAMESPACE": "job"}, "put the launcher behind it"),
    ],
)
def test_what_is_wrong_is_told_before_the_program_runs(
    options: list[str], env: dict[str, str], told: str
) -> None:
    done = run(*options, program=("echo", "ran"), **env)

    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


@pytest.mark.slow
def test_an_emulator_that_is_given_a_wrong_rule_does_not_begin(tmp_path: Path) -> None:
    done = emuzero("serve", "--socket", tmp_path / "x", env={"EMUZERO_FAULTS": "mmu.walk fly"})

    assert done.returncode == 2
    assert "EMUZERO_FAULTS: no action is called 'fly'" in done.stderr


KILLS = """
import os, signal, socket
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as emulator:
    emulator.connect(os.environ["EMUZERO_SOCKET"])
    who = emulator.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
os.kill(int.from_bytes(who[:4], "little"), signal.SIGKILL)
raise SystemExit(3)
"""


@pytest.mark.slow
def test_an_emulator_that_ends_before_the_program_leaves_a_warning() -> None:
    done = run("--fault", LOSES, program=(sys.executable, "-c", KILLS))

    assert done.returncode == 3
    assert "what became of the faults is not known" in done.stderr
