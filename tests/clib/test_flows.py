"""What the extensions are for, from beginning to end, as C programs do it: one program each."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.harness.emulator_process import EmulatorProcess, emulator_process

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

TIGHT = "max_allocation_size = 8388608\nmax_range_objects = 3\n"
"""Limits that programs can pass: bytes of an allocation, objects of a range."""


@pytest.fixture(name="tight", scope="module")
def make_tight(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatorProcess]:
    """Return an emulator whose devices allow less than they have."""
    with emulator_process(tmp_path_factory.mktemp("tight"), spec=TIGHT) as emulator:
        yield emulator


@pytest.mark.parametrize("name", ["window", "freeing", "limits", "compressed", "sysmem", "orders"])
def test_a_flow_works_from_beginning_to_end_and_leaves_nothing(
    name: str, compile_program: Callable[[str], Path], tight: EmulatorProcess
) -> None:
    before = tight.audit()
    environment = {**os.environ, "EMUZERO_SOCKET": str(tight.path)}

    subprocess.run([compile_program(name)], env=environment, check=True, timeout=60)

    assert tight.audit() == before
