"""Loaders and other drivers on this system, and what programs of this shell would find."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hostdriver.cli.doctor.finding import Finding, fine, problem, warning
from hostdriver.cli.environment import DRIVERS_VARIABLE, PATH_VARIABLE
from hostdriver.clib.build import (
    LOADER,
    NAME,
    OLDEST_LOADER,
    VERSION,
    library_path,
    system_libraries,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OTHER_DRIVERS: Final = ("libze_intel_gpu.so.1", "libze_intel_vpu.so.1", "libze_intel_npu.so.1")


def check_loader(
    environment: Mapping[str, str] = os.environ, libraries: Mapping[str, Path] | None = None
) -> Iterator[Finding]:
    """Yield what is to be said of loaders; `libraries` are the system's, by name."""
    there = system_libraries() if libraries is None else libraries
    yield _loader(_first_in(environment.get(PATH_VARIABLE, "")) or there.get(LOADER))
    if others := [str(there[name]) for name in OTHER_DRIVERS if name in there]:
        yield fine("other drivers", f"{', '.join(others)}: programs see their devices, too")
    yield from _named(environment.get(DRIVERS_VARIABLE, ""))


def _first_in(folders: str) -> Path | None:
    paths = (Path(folder, LOADER) for folder in folders.split(os.pathsep) if folder)
    return next((path for path in paths if path.exists()), None)


def _loader(path: Path | None) -> Finding:
    if path is None:
        return fine("loader", "none installed: the library stands in its place")
    real = path.resolve()
    if real.name == NAME:
        ours = real == library_path().resolve()
        return (
            fine("loader", f"{path}: the library stands in its place")
            if ours
            else problem("loader", f"{path} is another version's library", _AGAIN)
        )
    found = VERSION.search(real.name)
    if found is None:
        return fine("loader", f"{real}, of unknown version")
    version = int(found[1]), int(found[2])
    text = f"{real}, version {found[1]}.{found[2]}"
    if version < OLDEST_LOADER:
        return fine("loader", f"{text}, which is too old: the library stands in its place")
    return fine("loader", text)


_AGAIN: Final = 'eval "$(emuzero env)" again'


def _named(drivers: str) -> Iterator[Finding]:
    """Yield what is to be said of the drivers that the environment names."""
    if not drivers:
        return
    name = f"{DRIVERS_VARIABLE}={drivers}"
    paths = [Path(part) for part in re.split("[:,]", drivers) if part]
    ours = library_path().resolve()
    if any(path.resolve() == ours for path in paths):
        yield fine("environment", f"{name} names this library")
    elif any(path.name == NAME for path in paths):
        state = "another version of it" if any(path.exists() for path in paths) else "one no more"
        yield problem("environment", f"{name} names {state}", _AGAIN)
    else:
        yield warning(
            "environment",
            f"{name} names other drivers, not this one",
            "unset it, or use `emuzero run`, which names this one",
        )
