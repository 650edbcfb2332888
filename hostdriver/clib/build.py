"""Building the C library: once for each version of its sources, in the user's cache."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

SOURCES: Final = Path(__file__).parent
NAME: Final = "libze_emuzero.so.1"
LOADER: Final = "libze_loader.so.1"
HEADER: Final = "level_zero.h"
"""The declarations with which programs compile where no loader's headers are installed."""
OTHER_NAMES: Final = (NAME, "libze_intel_gpu.so.1", LOADER)
"""Names under which programs and the loader look for a driver, or for the loader itself."""
OLDEST_LOADER: Final = (1, 18)
"""The first loader with all that runtimes ask of one."""
VERSION: Final = re.compile(r"\.so\.(\d+)\.(\d+)")
COMPILERS: Final = ("cc", "gcc", "clang")
FLAGS: Final = (
    "-std=c11",
    "-O2",
    "-g",
    "-Wall",
    "-Wextra",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-pthread",
    # Else a program's loader, which has the same names, would stand in for our own functions.
    "-Wl,-Bsymbolic",
    # Session and memory last as long as the process: a program that closes the library and opens
    # it again, or has threads inside of it meanwhile, finds everything as it was.
    "-Wl,-z,nodelete",
    f"-Wl,-soname,{NAME}",
)


class BuildError(Exception):
    """The library cannot be built; the text says why and what helps."""


def library() -> Path:
    """Return the library, built if it is not there yet.

    Several processes may ask at once: each builds a file of its own and moves it into place.

    Raises:
        BuildError: no compiler, or it failed.
    """
    path = library_path()
    if not path.exists():
        _build(path.parent, path)
    return path


def library_path() -> Path:
    """Return where the library is, or would be built."""
    return _cache() / f"clib-{_fingerprint()}" / NAME


def other_builds() -> list[Path]:
    """Return the folders in which libraries of other versions stand."""
    mine = library_path().parent
    return sorted(path for path in _cache().glob("clib-*") if path != mine)


def compiler() -> str | None:
    """Return the C compiler that builds the library; None: there is none."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


def stand_ins() -> Path:
    """Return a folder in which the library has the names of loader and vendor driver.

    The declarations for programs stand beside them.

    Raises:
        BuildError: see `library`.
    """
    path = library()
    folder = path.parent / "names"
    folder.mkdir(exist_ok=True)
    for name in OTHER_NAMES:
        link = folder / name
        if not link.exists():
            made = folder / f".{name}.{os.getpid()}"
            made.symlink_to(path)
            made.replace(link)
    if not (folder / HEADER).exists():
        made = folder / f".{HEADER}.{os.getpid()}"
        shutil.copyfile(SOURCES / "generated" / HEADER, made)
        made.replace(folder / HEADER)
    return folder


def has_loader() -> bool:
    """Return whether programs find a loader of the system that does for all of them.

    Older ones lack functions that SYCL and MPI runtimes call without looking.
    """
    found = _system_loader()
    if found is None:
        return False
    if found.resolve().name == NAME:
        # Where a shell has our own in its path: another version's is to give way to this one's.
        return found.resolve() == library_path().resolve()
    version = VERSION.search(found.resolve().name)
    return version is None or (int(version[1]), int(version[2])) >= OLDEST_LOADER


def _system_loader() -> Path | None:
    """Return the file that the dynamic linker takes for the loader."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    for folder in filter(None, folders):
        if (path := Path(folder, LOADER)).exists():
            return path
    return system_libraries().get(LOADER)


def system_libraries() -> dict[str, Path]:
    """Return the libraries that the system knows by name, and where they are."""
    search = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    ldconfig = shutil.which("ldconfig", path=search)
    if ldconfig is None:
        return {}
    known = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=False)
    found: dict[str, Path] = {}
    for line in known.stdout.splitlines():
        name, arrow, path = line.partition(" => ")
        if arrow:
            found.setdefault(name.split()[0], Path(path))
    return found


def compile_library(path: Path, *options: str) -> None:
    """Compile the library into a file, with more options than it needs.

    Raises:
        BuildError: no compiler, or it failed.
    """
    found = compiler()
    if found is None:
        raise BuildError(
            "no C compiler found to build the library that programs load"
            " (on Debian: apt-get install gcc libc6-dev)"
        )
    command = [found, *FLAGS, *options, "-o", str(path), *map(str, sources())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"the C library cannot be built by {found}:\n{done.stderr.strip()}")


def _build(folder: Path, path: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f".{NAME}.{os.getpid()}"
    compile_library(made)
    made.replace(path)


def sources() -> list[Path]:
    """Return the C sources."""
    return sorted([*SOURCES.glob("*.c"), *SOURCES.glob("generated/*.c")])


def _fingerprint() -> str:
    """Return what changes whenever the library would."""
    digest = hashlib.sha256("\0".join(FLAGS).encode())
    for path in sorted([*sources(), *SOURCES.glob("**/*.h")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _cache() -> Path:
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if named else Path.home() / ".cache") / "emuzero"
