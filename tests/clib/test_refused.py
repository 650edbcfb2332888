"""A program that the emulator does not take is told why in words, and what helps."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.harness.emulator_process import emulator_process

Compile = Callable[[str], Path]
NO_IMAGE = b"\x7fELF" + bytes(200)


def test_a_device_that_refused_its_firmware_is_told_with_what_helps(
    compile_program: Compile, tmp_path: Path
) -> None:
    program = compile_program("refused")

    with emulator_process(tmp_path, image=NO_IMAGE) as emulator:
        done = subprocess.run(
            [program],
            env={**os.environ, "EMUZERO_SOCKET": str(emulator.path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 0, done.stderr
    [line] = done.stdout.splitlines()
    assert line.startswith(
        f"the emulator at {emulator.path} takes no programs: a device is not running "
    )
    assert "it refused its firmware image (boot error 3;" in line
    assert "`emuzero status`" in line
    assert "without --firmware" in line
    assert "handshake" not in line
