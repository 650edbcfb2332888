"""`emuzero run`: exit codes, environment, and an emulator that ends with its program."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


RUN = [sys.executable, "-m", "hostdriver.cli", "run"]
SHOW = "import os; print(os.environ['EMUZERO_SOCKET']); print(os.environ['ZE_ENABLE_ALT_DRIVERS'])"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUN, *arguments], capture_output=True, text=True, check=False)


def test_a_program_finds_driver_and_emulator_in_its_environment() -> None:
    program = f"{SHOW}; from hostdriver import levelzero as ze; print(len(ze.connect().devices))"

    done = run("--devices", "2", "--vram", "64MiB", "--", sys.executable, "-c", program)

    socket, library, devices = done.stdout.split()
    assert done.returncode == 0
    assert devices == "2"
    assert library.endswith("libze_emuzero.so.1")
    assert not socket.startswith("/run/user")


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -TERM $$"], 143),
        (["/nosuch/program"], 127),
        (["/"], 126),
    ],
    ids=["status", "signal", "missing", "folder"],
)
@pytest.mark.slow
def test_the_exit_code_is_the_programs(program: list[str], code: int) -> None:
    assert run("--vram", "64MiB", "--", *program).returncode == code


@pytest.mark.slow
def test_a_specification_says_how_many_devices_there_are(tmp_path: Path) -> None:
    spec = tmp_path / "two.toml"
    spec.write_text("devices = 2\nvram_size = 67108864\n")
    program = "from hostdriver import levelzero as ze; print(len(ze.connect().devices))"

    done = run("--spec", str(spec), "--", sys.executable, "-c", program)

    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


@pytest.mark.slow
def test_a_specification_that_is_wrong_is_told_before_the_program_runs() -> None:
    done = run("--spec", "/nosuch.toml", "--", "echo", "ran")

    assert done.returncode == 2
    assert "ran" not in done.stdout
    assert "/nosuch.toml" in done.stderr
