"""The library built once, and one emulator for all programs of a module."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hostdriver.clib.build import COMPILERS, SOURCES, stand_ins
from tests.harness.emulator_process import EmulatorProcess, emulator_process

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

PROGRAMS = Path(__file__).with_name("programs")


@pytest.fixture(name="compile_program", scope="session")
def make_compiler(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return what compiles one of the programs."""
    folder = tmp_path_factory.mktemp("programs")
    libraries = stand_ins()

    def compile_program(name: str) -> Path:
        program = folder / name
        if not program.exists():
            subprocess.run(
                [
                    *(COMPILERS[0], "-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"),
                    *("-Wno-missing-field-initializers", "-I", str(SOURCES / "generated")),
                    *("-o", str(program), str(PROGRAMS / f"{name}.c")),
                    *(f"-L{libraries}", "-l:libze_loader.so.1", f"-Wl,-rpath,{libraries}"),
                ],
                check=True,
            )
        return program

    return compile_program


@pytest.fixture(name="emulator", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatorProcess]:
    """Return an emulator with two devices."""
    with emulator_process(tmp_path_factory.mktemp("emulator"), device_count=2) as emulator:
        yield emulator
