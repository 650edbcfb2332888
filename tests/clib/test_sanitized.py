"""The C programs once more, on a library that watches every access and every arithmetic."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from hostdriver.clib.build import COMPILERS, NAME, SOURCES, compile_library
from scripts.clibrary.facts import Facts
from tests.harness.cprograms import PROGRAMS
from tests.harness.storm_tables import tables

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.emulator_process import EmulatorProcess

SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
TIGHT = "-DEMUZERO_FIRST_ROOM=512"
"""Four handles, and more room in small steps."""
NOT_HERE = {
    "embeds",
    "gone",
    "identifiers",
    "local",
    "lost",
    "mappings",
    "nobody",
    "polling",
    "recorded",
    "refused",
    "starts",
}
"""Programs that a test has to talk to, or that need no emulator or one that refuses them; one that
takes all mappings, which watching needs, and one with an interpreter inside, which is not ours."""


ARGUMENTS = {"sysman": ("2", "0"), "storm": ("1", "4000", "4"), "sequence": ("7", "1500")}
"""What programs are to find: two devices without parts."""
PASSES_LIMITS = {"limits", "window"}
"""Programs that need devices which allow less than they have."""
LEAVES_THREADS = {"ends", "functions"}
"""Programs that end, or have children that do, while their threads run, or by the end of another
than the first one: then nobody can tell what they have lost."""


@pytest.fixture(name="sanitized", scope="module")
def make_sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with such a library."""
    folder = tmp_path_factory.mktemp("sanitized")
    compile_library(folder / NAME, *SANITIZED, TIGHT)
    (folder / "storm_tables.h").write_text(tables(Facts()), encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({path.stem for path in PROGRAMS.glob("*.c")} - NOT_HERE))
def test_nothing_is_read_or_written_that_should_not_be(
    name: str, sanitized: Path, emulator: EmulatorProcess, tight: EmulatorProcess
) -> None:
    where = tight if name in PASSES_LIMITS else emulator
    program = sanitized / name
    subprocess.run(
        [
            *(COMPILERS[0], "-std=gnu11", "-g", "-pthread", *SANITIZED),
            *("-I", str(SOURCES / "generated"), "-I", str(sanitized)),
            *("-o", str(program), str(PROGRAMS / f"{name}.c")),
            *(f"-L{sanitized}", f"-l:{NAME}", f"-Wl,-rpath,{sanitized}"),
        ],
        check=True,
    )

    done = subprocess.run(
        [program, *ARGUMENTS.get(name, ())],
        env={
            **os.environ,
            "EMUZERO_SOCKET": str(where.path),
            "ASAN_OPTIONS": f"detect_leaks={int(name not in LEAVES_THREADS)}",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert (done.returncode, done.stderr) == (0, "")
