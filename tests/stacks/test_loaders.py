"""The library under Debian's loader, in every way in which that finds and calls a driver.

That loader is an old one: it knows the interface as it was years ago, and so do its headers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hostdriver.clib.build import COMPILERS, LOADER, library, stand_ins
from tests.harness.installed import debian_packages
from tests.harness.loaders import runner_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.emulator_process import EmulatorProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
HERE = Path(__file__).parent / "programs"
OURS = Path(__file__).parents[1] / "clib" / "programs"
LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
INTERCEPTED = {"ZE_ENABLE_LOADER_INTERCEPT": "1"}
VALIDATED = {"ZE_ENABLE_VALIDATION_LAYER": "1", "ZE_ENABLE_PARAMETER_VALIDATION": "1"}
TRACED = {"ZET_ENABLE_API_TRACING_EXP": "1"}
LAYERS = pytest.mark.parametrize(
    "layers",
    [{}, INTERCEPTED, VALIDATED, TRACED, VALIDATED | TRACED],
    ids=["none", "intercepted", "validated", "traced", "both"],
)


@pytest.fixture(name="debian", scope="module")
def make_debian() -> Path:
    """Return a folder with Debian's loader and headers."""
    return debian_packages("libze1", "libze-dev")


@pytest.fixture(name="compile_old", scope="module")
def make_compiler(debian: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Return what compiles a program against Debian's headers and loader."""
    folder = tmp_path_factory.mktemp("old")

    def compile_old(source: Path) -> Path:
        program = folder / source.stem
        if not program.exists():
            command = (COMPILERS[0], "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread")
            headers = ("-I", HERE / "debian", "-isystem", debian / "usr" / "include")
            libraries = ("-L", debian / LIBRARIES, "-lze_loader", "-ldl")
            warnings = "-Wno-missing-field-initializers"
            subprocess.run(
                [*command, warnings, *headers, "-o", program, source, *libraries], check=True
            )
        return program

    return compile_old


@pytest.fixture(name="run", scope="module")
def make_runner(debian: Path, emulator: EmulatorProcess) -> Callable[..., str]:
    """Return what runs a program under Debian's loader; nothing of it may be left."""
    run_on = runner_on(emulator)

    def run(*command: object, more_libraries: str = "", **variables: str) -> str:
        folders = filter(None, [str(debian / LIBRARIES), more_libraries])
        return run_on(*command, **{"LD_LIBRARY_PATH": os.pathsep.join(folders), **variables})

    return run


@LAYERS
def test_a_program_of_that_time_runs(
    compile_old: Callable[[Path], Path], run: Callable[..., str], layers: dict[str, str]
) -> None:
    told = run(compile_old(HERE / "old.c"), ZE_ENABLE_ALT_DRIVERS=str(library()), **layers)

    assert told.splitlines() == ["emuzero virtual GPU"]


@LAYERS
def test_it_runs_beside_a_second_driver(
    compile_old: Callable[[Path], Path],
    run: Callable[..., str],
    layers: dict[str, str],
    tmp_path: Path,
) -> None:
    second = Path(shutil.copy(library(), tmp_path / "libze_second.so.1"))

    told = run(compile_old(HERE / "old.c"), ZE_ENABLE_ALT_DRIVERS=f"{library()},{second}", **layers)

    assert told.splitlines() == ["emuzero virtual GPU"] * 2


def test_it_is_found_by_the_name_of_the_vendors_driver(
    compile_old: Callable[[Path], Path],
    run: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    debian: Path,
) -> None:
    monkeypatch.delenv("ZE_ENABLE_ALT_DRIVERS", raising=False)
    # The library has the loader's name there, too: the linker takes the first one.
    assert (debian / LIBRARIES / LOADER).exists()

    told = run(compile_old(HERE / "old.c"), more_libraries=str(stand_ins()))

    assert told.splitlines() == ["emuzero virtual GPU"]


@pytest.mark.parametrize("name", ["forks", "mappings", "threads"])
@pytest.mark.parametrize("layers", [INTERCEPTED, VALIDATED], ids=["intercepted", "validated"])
def test_programs_fork_map_and_call_from_threads(
    compile_old: Callable[[Path], Path],
    run: Callable[..., str],
    name: str,
    layers: dict[str, str],
) -> None:
    program = compile_old(OURS / f"{name}.c")

    run(program, ZE_ENABLE_ALT_DRIVERS=str(library()), **layers)


def test_without_a_loader_it_is_opened_used_and_closed_again_and_again(
    compile_old: Callable[[Path], Path], run: Callable[..., str]
) -> None:
    run(compile_old(HERE / "dlopened.c"), library())
