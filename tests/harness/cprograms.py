"""C programs of the tests, compiled against our declarations and the library that we build."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from hostdriver.clib.build import COMPILERS, SOURCES, stand_ins

PROGRAMS: Final = Path(__file__).parents[1] / "clib" / "programs"


def compiled(name: str, folder: Path) -> Path:
    """Return one of the programs, compiled into a folder unless it is there already."""
    program = folder / name
    libraries = stand_ins()
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
