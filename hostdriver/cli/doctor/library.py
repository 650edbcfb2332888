"""The C library: whether it is built, whether it is this version's, and whether it can be built."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Final

from hostdriver.cli.doctor.finding import Finding, fine, problem, warning
from hostdriver.clib.build import NAME, compiler, library_path, other_builds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ELF: Final = b"\x7fELF"
_INSTALL: Final = "install one (on Debian: apt-get install gcc libc6-dev)"


def check_library() -> Iterator[Finding]:
    """Yield what is to be said of library and compiler."""
    path = library_path()
    found = compiler()
    is_built = path.exists()
    if not is_built and found is None:
        yield problem("library", "not built, and no C compiler is there to build it", _INSTALL)
    elif not is_built:
        yield fine("library", f"not built yet: the first `emuzero run` does it, at {path}")
    elif not _is_library(path):
        yield problem("library", f"{path} is damaged", f"remove it: rm {path}")
    else:
        yield fine("library", f"{path}, built from these sources")
    if old := other_builds():
        yield fine("old libraries", f"{len(old)} of other versions beside it, which may be removed")
    if found is None:
        yield warning("compiler", "none", _INSTALL + " before the library changes")
    else:
        yield fine("compiler", _version_of(found))


def _is_library(path: Path) -> bool:
    """Return whether a file is a whole library of ours: its tables of sections stand at its end."""
    data = path.read_bytes()
    sections = int.from_bytes(data[40:48], "little")
    size = int.from_bytes(data[58:60], "little") * int.from_bytes(data[60:62], "little")
    return data[:4] == _ELF and NAME.encode() in data and len(data) >= sections + size


def _version_of(path: str) -> str:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    first = next(iter(done.stdout.splitlines()), "")
    return f"{path} ({first})" if first else path
