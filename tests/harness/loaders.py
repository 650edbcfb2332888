"""Running programs under loaders of other Debian releases, and looking whether anything is left."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.emulator_process import EmulatorProcess


def runner_on(emulator: EmulatorProcess) -> Callable[..., str]:
    """Return what runs a command on an emulator and returns what it wrote.

    The command has to succeed, to write nothing to standard error, and to leave in the emulator
    what was there before. Keywords are variables of its environment.
    """
    before = emulator.audit()

    def run(*command: object, **variables: str) -> str:
        done = subprocess.run(
            [*map(str, command)],
            env={**os.environ, "EMUZERO_SOCKET": str(emulator.path), **variables},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert emulator.audit() == before
        return done.stdout

    return run
