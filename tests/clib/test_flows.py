"""What the extensions are for, from beginning to end, as C programs do it: one program each."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.harness.emulator_process import EmulatorProcess


@pytest.mark.parametrize("name", ["window", "freeing", "limits", "compressed", "sysmem", "orders"])
def test_a_flow_works_from_beginning_to_end_and_leaves_nothing(
    name: str, compile_program: Callable[[str], Path], tight: EmulatorProcess
) -> None:
    before = tight.audit()
    environment = {**os.environ, "EMUZERO_SOCKET": str(tight.path)}

    subprocess.run([compile_program(name)], env=environment, check=True, timeout=60)

    assert tight.audit() == before
