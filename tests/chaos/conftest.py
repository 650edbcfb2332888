"""A device process, and somebody who only wants to work."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from tests.harness.bystander import Bystander

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.harness.emulator_process import EmulatorProcess


@pytest.fixture
def bystander(emulator: EmulatorProcess) -> Generator[Bystander]:
    with contextlib.closing(Bystander(emulator.path)) as other:
        yield other
