"""A device process, and somebody who only wants to work."""

from __future__ import annotations

import contextlib
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
