"""An emulator that takes rules, and a C program that does what it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.cprograms import compiled
from tests.harness.ruled_emulator import ruled_emulator
from tests.harness.scripted import scripted

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.harness.ruled_emulator import RuledEmulator
    from tests.harness.scripted import Scripted


@pytest.fixture(name="script", scope="session")
def make_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("scripted", tmp_path_factory.mktemp("programs"))


@pytest.fixture(name="ruled", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Generator[RuledEmulator]:
    with ruled_emulator(tmp_path_factory.mktemp("emulator"), device_count=2) as emulator:
        yield emulator


@pytest.fixture(name="program")
def make_program(script: Path, ruled: RuledEmulator) -> Generator[Scripted]:
    """Return a program that has begun, and afterwards look whether it left anything."""
    before = ruled.audit()
    with scripted(script, ruled.path) as program:
        yield program
    assert ruled.wrappers() == 0
    assert ruled.audit() == before
