"""A program whose `emuzero run` is killed: its emulator ends, it goes on, and its calls say so."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.commandline import PATIENCE_SECONDS, command_line, environment

Compile = Callable[[str], Path]
TELLS = '"$0"; echo "ended with $?"'
"""A shell that tells how the program ended to whoever still listens."""


@pytest.mark.parametrize("driver", ["inline", "process"])
def test_its_calls_tell_that_the_device_is_lost(
    driver: str, compile_program: Compile, tmp_path: Path
) -> None:
    """The program itself fails if a call takes longer than it may (see `lost.c`)."""
    words = ("run", "--vram", "64MiB", "--driver", driver, "--", "sh", "-c", TELLS)
    command = subprocess.Popen(
        command_line(*words, compile_program("lost")),
        env=environment(TMPDIR=str(tmp_path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with command:
        assert command.stdout is not None
        assert command.stdout.readline() == "ready\n"
        command.kill()
        command.wait(PATIENCE_SECONDS)
        # The end of its input lets the program go on.
        output, errors = command.communicate(timeout=PATIENCE_SECONDS)

    assert (output, errors) == ("ended with 0\n", "")
