"""Programs with an interpreter of Python that ends before they do: calls go on, nothing is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from ctypes.util import find_library
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hostdriver.clib.build import stand_ins
from hostdriver.core.structure_types import StructureType
from hostdriver.core.work_enums import EventPoolFlags
from tests.harness.cprograms import PROGRAMS

if TYPE_CHECKING:
    from tests.harness.emulator_process import EmulatorProcess

Compile = Callable[[str], Path]
SCRIPT = PROGRAMS / "hosted.py"
PATIENCE_SECONDS = 60


def shared_python() -> str:
    """Return the file or the name of this interpreter's shared library."""
    name = str(sysconfig.get_config_var("INSTSONAME"))
    path = Path(str(sysconfig.get_config_var("LIBDIR")), name)
    if path.exists() and ".so" in name:
        return str(path)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = find_library(version)
    if found is None:
        pytest.fail(f"no shared lib{version} to embed (on Debian: apt-get install lib{version})")
    return found


def facts(emulator: EmulatorProcess, library: Path | None, *, threads: bool) -> dict[str, str]:
    """Return the environment of the script."""
    told = {
        "library": None if library is None else str(library),
        "threads": threads,
        "context": StructureType.CONTEXT_DESC,
        "host": StructureType.HOST_MEM_ALLOC_DESC,
        "pool": StructureType.EVENT_POOL_DESC,
        "event": StructureType.EVENT_DESC,
        "visible": EventPoolFlags.HOST_VISIBLE,
    }
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "EMUZERO_SOCKET": str(emulator.path),
        "FACTS": json.dumps(told),
        "PYTHONHOME": sys.base_prefix,
    }


def output_of(words: Sequence[str | Path], environment: dict[str, str]) -> list[str]:
    """Return the lines of a program that ends well."""
    done = subprocess.run(
        words,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("threads", [False, True])
def test_a_python_program_calls_until_its_interpreter_is_taken_apart(
    emulator: EmulatorProcess, *, threads: bool
) -> None:
    before = emulator.audit()
    environment = facts(emulator, stand_ins() / "libze_loader.so.1", threads=threads)

    lines = output_of((sys.executable, SCRIPT), environment)

    assert lines == ["at exit", "torn down"]
    assert emulator.audit() == before


@pytest.mark.slow
@pytest.mark.parametrize(("threads", "rounds"), [(True, 1), (False, 3)])
def test_a_c_program_goes_on_after_the_interpreter_inside_of_it(
    compile_program: Compile, emulator: EmulatorProcess, *, threads: bool, rounds: int
) -> None:
    """With threads one round: one that returned into an ended interpreter is Python's own fault."""
    before = emulator.audit()
    words = (compile_program("embeds"), shared_python(), SCRIPT, str(rounds))

    lines = output_of(words, facts(emulator, None, threads=threads))

    assert lines == ["at exit", "torn down", "ended"] * rounds
    assert emulator.audit() == before
