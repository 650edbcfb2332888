"""The library under a newer loader, which calls through handles, and a program that stands on it.

Loader and program are those of a later Debian, with the C library that they need; nothing of it is
installed.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hostdriver.clib.build import COMPILERS, LOADER, library
from tests.harness.installed import debian_release
from tests.harness.loaders import runner_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.emulator_process import EmulatorProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
HERE = Path(__file__).parent / "programs"
OURS = Path(__file__).parents[1] / "clib" / "programs"
LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
DYNAMIC_LOADER = LIBRARIES / "ld-linux-x86-64.so.2"
PACKAGES = (
    *("libc6", "libgcc-s1", "libstdc++6", "libze1", "libze-dev"),
    *("hwloc-nox", "libhwloc15", "libhwloc-plugins", "libtinfo6", "libudev1", "libcap2"),
)
INTERCEPTED = {"ZE_ENABLE_LOADER_INTERCEPT": "1"}
WRAPPED = {**INTERCEPTED, "ZE_ENABLE_LOADER_DRIVER_DDI_PATH": "0"}
VALIDATED = {"ZE_ENABLE_VALIDATION_LAYER": "1", "ZE_ENABLE_PARAMETER_VALIDATION": "1"}
LAYERS = pytest.mark.parametrize(
    "layers",
    [{}, INTERCEPTED, WRAPPED, VALIDATED],
    ids=["none", "through_handles", "wrapped", "validated"],
)


@pytest.fixture(name="trixie", scope="module")
def make_trixie() -> Path:
    """Return a folder with the later Debian's files."""
    return debian_release("trixie", *PACKAGES)


@pytest.fixture(name="compile_for", scope="module")
def make_compiler(trixie: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Return what compiles a program against the later Debian's headers and loader."""
    folder = tmp_path_factory.mktemp("newer")

    def compile_for(source: Path) -> Path:
        program = folder / source.stem
        if not program.exists():
            command = (COMPILERS[0], "-std=gnu11", "-pthread", "-I", HERE / "debian")
            headers = ("-isystem", trixie / "usr" / "include")
            loader = ("-L", trixie / LIBRARIES, f"-l:{LOADER}", "-Wl,--allow-shlib-undefined")
            subprocess.run([*command, *headers, "-o", program, source, *loader, "-ldl"], check=True)
        return program

    return compile_for


@pytest.fixture(name="run", scope="module")
def make_runner(trixie: Path, emulator: EmulatorProcess) -> Callable[..., str]:
    """Return what runs a program by the later Debian's libraries; nothing of it may be left."""
    run_on = runner_on(emulator)

    def run(*command: object, **variables: str) -> str:
        by_loader = (trixie / DYNAMIC_LOADER, "--library-path", trixie / LIBRARIES)
        return run_on(
            *by_loader, *command, **{"ZE_ENABLE_ALT_DRIVERS": str(library()), **variables}
        )

    return run


@LAYERS
def test_a_program_runs_whichever_way_the_loader_calls(
    compile_for: Callable[[Path], Path], run: Callable[..., str], layers: dict[str, str]
) -> None:
    assert run(compile_for(HERE / "old.c"), **layers).splitlines() == ["emuzero virtual GPU"]


@LAYERS
def test_it_runs_beside_a_second_driver(
    compile_for: Callable[[Path], Path],
    run: Callable[..., str],
    layers: dict[str, str],
    tmp_path: Path,
) -> None:
    second = Path(shutil.copy(library(), tmp_path / "libze_second.so.1"))
    both = {"ZE_ENABLE_ALT_DRIVERS": f"{library()},{second}"}

    told = run(compile_for(HERE / "old.c"), **layers, **both)

    assert told.splitlines() == ["emuzero virtual GPU"] * 2


@pytest.mark.parametrize("name", ["forks", "mappings", "threads"])
@pytest.mark.parametrize("layers", [INTERCEPTED, WRAPPED], ids=["through_handles", "wrapped"])
def test_programs_fork_map_and_call_from_threads(
    compile_for: Callable[[Path], Path],
    run: Callable[..., str],
    name: str,
    layers: dict[str, str],
) -> None:
    run(compile_for(OURS / f"{name}.c"), **layers)


def test_hwloc_shows_the_device(trixie: Path, run: Callable[..., str], tmp_path: Path) -> None:
    """Its plugin asks with a structure of which it has filled nothing: its chain leads nowhere."""
    (tmp_path / "hwloc_levelzero.so").symlink_to(trixie / LIBRARIES / "hwloc/hwloc_levelzero.so")
    only = {"HWLOC_PLUGINS_PATH": str(tmp_path), "HWLOC_COMPONENTS": "no_os,levelzero,stop"}

    told = run(trixie / "usr/bin/lstopo-no-graphics", "--of", "console", **only)

    shown = [line.strip() for line in told.splitlines() if "CoProc" in line]
    assert shown == ['CoProc(LevelZero) "ze0"']
