"""Images that a rule refuses at power-up: what the command says, and what programs see."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from hostdriver import levelzero as ze
from hostdriver.inject.remote import Faults
from tests.harness.commandline import emuzero, end, serving

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
from hostdriver import levelzero as ze
try:
    ze.connect(start=None).close()
except ze.ZeError as error:
    print(error)
else:
    print("runs")
"""
REFUSED = "mcu.boot bad_image=WRONG_VERSION"


def run_program(*options: str, **env: str) -> tuple[str, str]:
    """Connect in a program under `emuzero run`; return what it and the command said."""
    words = ("run", "--vram", "64MiB", *options, "--", sys.executable, "-c", PROGRAM)
    done = emuzero(*words, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_rule_of_the_command_line_refuses_the_image_at_power_up() -> None:
    said, told = run_program("--fault", f"{REFUSED} name=old")

    assert "ZE_RESULT_ERROR_NOT_AVAILABLE (0x70010001): the device is not running" in said
    assert "boot_error=WRONG_VERSION" in said
    assert "Warning: device 0 stays in its boot state, clients are refused" in told
    assert "firmware image refused (WRONG_VERSION) by rule 'old'" in told
    assert "name=old  seen 1, fired 1" in told


@pytest.mark.slow
def test_so_do_those_of_the_environment_and_of_a_scenario(tmp_path: Path) -> None:
    said, told = run_program(EMUZERO_FAULTS=f"{REFUSED} name=old")
    assert "ZE_RESULT_ERROR_NOT_AVAILABLE" in said
    assert "name=old  seen 1, fired 1" in told

    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(f'rules: ["{REFUSED} name=old"]\nexpect: {{fired: {{old: 1}}}}\n')
    said, told = run_program("--scenario", str(scenario))
    assert "ZE_RESULT_ERROR_NOT_AVAILABLE" in said
    assert "by rule 'old'" in told


def test_the_image_is_booted_when_the_rule_goes(tmp_path: Path) -> None:
    options = ("--devices", 2, "--vram", "64MiB", "--fault", f"{REFUSED} device=1 name=old")
    with serving(tmp_path, *options) as emulator:
        phases = [device["phase"] for device in emulator.ready["devices"]]
        assert phases == ["RUNNING", "BOOT"]
        assert emulator.ready["devices"][1]["boot_error"] == "WRONG_VERSION"
        # A driver has all devices, or none.
        with pytest.raises(ze.ZeError, match=r"NOT_AVAILABLE.*boot_error=WRONG_VERSION"):
            ze.connect(emulator.socket, start=None)

        with Faults(emulator.socket) as faults:
            assert [row.fired for row in faults.remove("old")] == [1]
        with ze.connect(emulator.socket, start=None) as driver:
            assert len(driver.devices) == 2
        _, errors = end(emulator.process)

    assert "Warning: device 1 stays in its boot state" in errors
    assert "device 0 stays" not in errors


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["inline", "process"])
def test_a_c_program_finds_no_driver(script: Path, driver: str) -> None:
    words = ("run", "--vram", "64MiB", "--driver", driver, "--fault", REFUSED, "--", str(script))
    done = emuzero(*words, stdin="start\n")

    (first, *_) = done.stdout.splitlines()
    assert int(first.split("|")[0], 0) == ze.ZeResult.ZE_RESULT_ERROR_UNINITIALIZED, done.stdout
    assert "fired 1" in done.stderr
