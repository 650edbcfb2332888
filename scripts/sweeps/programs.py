"""The programs that are swept: two processes that share memory, by the C library and in Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hostdriver.clib.build import COMPILERS, SOURCES, stand_ins

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).resolve().parents[2]
SUMMARIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "exchange": "a C program on the library starts itself for each of four handles",
        "two-processes": "the shortest example in Python: a handle out, a greeting back",
        "demo": "`emuzero demo`: files in three objects, a window of them at the importer",
    }
)


def program(name: str, folder: Path) -> list[str]:
    """Return the command line of a program; what has to be compiled is put into `folder`.

    Raises:
        subprocess.CalledProcessError: it cannot be compiled.
    """
    match name:
        case "exchange":
            return [str(compile_exchange(folder))]
        case "two-processes":
            return [sys.executable, str(ROOT / "hostdriver" / "examples" / "two_processes.py")]
        case "demo":
            return [sys.executable, "-m", "hostdriver.cli", "demo", "--attach"]
        case _:
            raise ValueError(f"no program is called {name!r}; there are {', '.join(SUMMARIES)}")


def compile_exchange(folder: Path) -> Path:
    """Compile docs/examples/faults/exchange.c against our own declarations; return the program.

    Raises:
        subprocess.CalledProcessError: the compiler refuses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    libraries = stand_ins()
    made = folder / "exchange"
    subprocess.run(
        [
            *(COMPILERS[0], "-std=gnu11", "-Wall", "-Wextra", "-Wno-missing-field-initializers"),
            *("-I", str(SOURCES / "generated"), "-o", str(made)),
            str(ROOT / "docs" / "examples" / "faults" / "exchange.c"),
            *(f"-L{libraries}", "-l:libze_loader.so.1", f"-Wl,-rpath,{libraries}"),
        ],
        check=True,
    )
    return made
