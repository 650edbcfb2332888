"""A device process, somebody who only wants to work, and chance whose seed is shown."""

from __future__ import annotations

import contextlib
import os
import random
from typing import TYPE_CHECKING

import pytest

from tests.harness.bystander import Bystander
from tests.harness.emulator_process import emulator_process

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.harness.emulator_process import EmulatorProcess


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatorProcess]:
    """Run one device process for all attacks of a module: none may leave anything behind."""
    with emulator_process(tmp_path_factory.mktemp("emulator")) as running:
        yield running


@pytest.fixture
def bystander(emulator: EmulatorProcess) -> Generator[Bystander]:
    with contextlib.closing(Bystander(emulator.path)) as other:
        yield other


@pytest.fixture
def chance() -> random.Random:
    seed = random.SystemRandom().randrange(1 << 32)
    # Shown by pytest when the test fails.
    os.write(1, f"seed {seed}\n".encode())
    return random.Random(seed)
