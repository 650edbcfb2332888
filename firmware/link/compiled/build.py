"""Building the compiled part: once for each version of its source and of the interpreter."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

NAME: Final = "emuzero_link"
SOURCES: Final = Path(__file__).parent
"""The folder of the sources."""
VARIABLE: Final = "EMUZERO_COMPILED"
"""Set to 0, a process does without the compiled part."""
COMPILERS: Final = ("cc", "gcc", "clang")
FLAGS: Final = (
    "-std=c11",
    "-D_GNU_SOURCE",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fPIC",
    "-fvisibility=hidden",
    "-shared",
)
_PATIENCE_SECONDS: Final = 30


class BuildError(Exception):
    """It cannot be built; the text says why."""


def build() -> Path:
    """Return the module, built if it is not there yet.

    Several processes may ask at once: each builds a file of its own and moves it into place.

    Raises:
        BuildError: no compiler, no header of the interpreter, no cache to write to, or it failed.
    """
    path = module_path()
    if not path.exists():
        try:
            _build(path)
        except OSError as error:
            raise BuildError(f"{path} cannot be written: {error}") from error
    return path


def module_path() -> Path:
    """Return where the module is, or would be built."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(named) if named else Path.home() / ".cache"
    suffix = str(sysconfig.get_config_var("EXT_SUFFIX") or ".so")
    return cache / "emuzero" / f"link-{_fingerprint()}" / f"{NAME}{suffix}"


def _build(path: Path) -> None:
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise BuildError("no C compiler found")
    headers = Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").exists():
        raise BuildError(f"no Python.h in {headers}")
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f".{path.name}.{os.getpid()}")
    sources = sorted(str(source) for source in SOURCES.glob("*.c"))
    command = [compiler, *FLAGS, f"-I{headers}", "-o", str(made), *sources]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_PATIENCE_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{compiler} took longer than {_PATIENCE_SECONDS} s") from error
    if done.returncode:
        raise BuildError(f"{SOURCES} cannot be built by {compiler}:\n{done.stderr.strip()}")
    made.replace(path)


@functools.cache
def _fingerprint() -> str:
    """Return what changes whenever the module would."""
    digest = hashlib.sha256("\0".join((*FLAGS, sys.version)).encode())
    for source in sorted(SOURCES.glob("*.[ch]")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
