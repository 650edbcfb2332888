"""C programs that tests inside of tests run, compiled once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.cprograms import compiled

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(name="compiled_programs", scope="session")
def compile_programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return two programs: one that frees all, and one that does not."""
    # For the session, since a test that has a pytester has another home.
    folder = tmp_path_factory.mktemp("programs")
    return {"CLEAN": compiled("memory", folder), "DIRTY": compiled("leaves", folder)}


@pytest.fixture(name="programs")
def name_programs(compiled_programs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests inside of the test know the programs."""
    for name, program in compiled_programs.items():
        monkeypatch.setenv(f"{name}_PROGRAM", str(program))
