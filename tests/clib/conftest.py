"""The library built once, and one emulator for all programs of a module."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from scripts.clibrary.facts import Facts
from tests.harness.cprograms import compiled
from tests.harness.emulator_process import EmulatorProcess, emulator_process
from tests.harness.storm_tables import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path


TIGHT = "max_allocation_size = 8388608\nmax_range_objects = 3\n"
"""Limits that programs can pass: bytes of an allocation, objects of a range."""


@pytest.fixture(name="compile_program", scope="session")
def make_compiler(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return what compiles one of the programs."""
    return partial(compiled, folder=tmp_path_factory.mktemp("programs"))


@pytest.fixture(name="storm", scope="session")
def make_storm(
    compile_program: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return the program that calls every function at random, from tables of the facts."""
    folder = tmp_path_factory.mktemp("storm")
    (folder / "storm_tables.h").write_text(tables(Facts()), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("C_INCLUDE_PATH", str(folder))
        return compile_program("storm")


@pytest.fixture(name="emulator", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatorProcess]:
    """Return an emulator with two devices."""
    with emulator_process(tmp_path_factory.mktemp("emulator"), device_count=2) as emulator:
        yield emulator


@pytest.fixture(name="tight", scope="module")
def make_tight(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatorProcess]:
    """Return an emulator whose devices allow less than they have."""
    with emulator_process(tmp_path_factory.mktemp("tight"), spec=TIGHT) as emulator:
        yield emulator
