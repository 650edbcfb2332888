"""What tests with programs of others need, installed once into the user's cache.

Nothing is installed into the system. Several test processes may ask at once: one installs, the
others wait for it. What cannot be installed fails the test and names what is missing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

STAMP = "complete"


def python_packages(requirements: Path) -> Path:
    """Return an environment with the packages that a file pins, and those of files it names."""
    wanted = _with_includes(requirements)
    with _only_once("python", f"{sys.version}\n{wanted}") as folder:
        if not (folder / STAMP).exists():
            venv.create(folder, symlinks=True)
            pip = (sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"))
            options = ("--quiet", "--no-compile", "--disable-pip-version-check", "--no-input")
            _install([*pip, "install", *options, "-r", str(requirements)], wanted)
            (folder / STAMP).touch()
    return folder


def debian_packages(*names: str) -> Path:
    """Return a folder with the files of Debian's packages, as they would lie below `/`."""
    with _only_once("debian", "\n".join(names)) as folder:
        if not (folder / STAMP).exists():
            missing = f"Debian's packages {' and '.join(names)}"
            for tool in ("apt-get", "dpkg-deb"):
                if shutil.which(tool) is None:
                    pytest.fail(f"{missing} are needed, and there is no {tool} to get them with")
            download = ["apt-get", "--quiet", "download", *names]
            if subprocess.run(download, cwd=folder, capture_output=True, check=False).returncode:
                if os.geteuid() == 0:
                    _install(["apt-get", "--quiet", "update"], missing)
                _install(download, missing, folder)
            for package in folder.glob("*.deb"):
                _install(["dpkg-deb", "--extract", str(package), str(folder)], missing)
            (folder / STAMP).touch()
    return folder


def debian_release(release: str, *names: str) -> Path:
    """Return a folder with the files of packages of another release of Debian, as below `/`.

    Its programs run by the loader and the libraries in there, so a C library has to be among them.
    """
    with _only_once("release", "\n".join((release, *names))) as folder:
        if not (folder / STAMP).exists():
            missing = f"Debian's packages {' and '.join(names)} of {release}"
            options = _own_lists(folder, _release_lists(release), missing)
            _install(["apt-get", "--quiet", *options, "download", *names], missing, folder)
            for package in folder.glob("*.deb"):
                _install(["dpkg-deb", "--extract", str(package), str(folder)], missing)
            (folder / STAMP).touch()
    return folder


def debian_source(name: str, main_file: str) -> Path:
    """Return the folder of a Debian source package, unpacked.

    It comes from where the system's packages do, by lists of this function's own: the system need
    not know of sources. `main_file` is what has to be in it.
    """
    with _only_once("source", name) as folder:
        if not (folder / STAMP).exists():
            missing = f"Debian's source package {name}"
            options = _own_lists(folder, _source_lists(), missing)
            _install(["apt-get", "--quiet", *options, "source", name], missing, folder)
            (folder / STAMP).touch()
        found = list(folder.glob(f"*/{main_file}"))
    assert len(found) == 1, found
    return found[0].parents[main_file.count("/")]


def _own_lists(folder: Path, lines: str, missing: str) -> list[str]:
    """Return the options with which apt-get works by lists in a folder; they are fetched."""
    for tool in ("apt-get", "dpkg-deb", "dpkg-source"):
        if shutil.which(tool) is None:
            pytest.fail(f"{missing} is needed, and there is no {tool} to get it with")
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(lines, encoding="utf-8")
    own = (
        f"Dir::Etc::sourcelist={folder}/sources.list",
        "Dir::Etc::sourceparts=-",
        f"Dir::State::lists={folder}/lists",
        f"Dir::Cache::srcpkgcache={folder}/lists/sources.bin",
        f"Dir::Cache::pkgcache={folder}/lists/packages.bin",
        # Whoever tests may write there, `_apt` need not.
        "APT::Sandbox::User=root",
    )
    options = [word for item in own for word in ("-o", item)]
    _install(["apt-get", "--quiet", *options, "update"], missing)
    return options


def _release_lists(release: str) -> str:
    """Return where the packages of a release are: where those of the system's own come from."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"]
    known = subprocess.run(
        [*command, "Identifier: Packages"], capture_output=True, text=True, check=True
    )
    places = (line.split() for line in known.stdout.splitlines())
    archives = {uri for uri, _, part in places if part == "main" and uri.endswith("debian/")}
    return "".join(f"deb {uri} {release} main\n" for uri in sorted(archives))


def _source_lists() -> str:
    """Return where the sources of the system's packages are."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"]
    known = subprocess.run(
        [*command, "Identifier: Packages"], capture_output=True, text=True, check=True
    )
    return "".join(f"deb-src {line}\n" for line in sorted({*known.stdout.splitlines()}))


def _with_includes(requirements: Path) -> str:
    """Return the lines of a file of requirements, those of the files that it names among them."""
    lines: list[str] = []
    for line in requirements.read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            lines.append(_with_includes(requirements.parent / line.removeprefix("-r ")))
        elif line and not line.startswith("#"):
            lines.append(line)
    return "\n".join(lines)


@contextmanager
def _only_once(kind: str, wanted: str) -> Generator[Path]:
    """Hold the lock of a folder that is named after what is wanted in it."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    cache = (Path(named) if named else Path.home() / ".cache") / "emuzero" / "tests"
    folder = cache / f"{kind}-{hashlib.sha256(wanted.encode()).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def _install(command: Sequence[str], missing: str, folder: Path | None = None) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        told = (done.stderr or done.stdout).strip()
        pytest.fail(f"missing:\n{missing}\n{' '.join(command)}: {told}", pytrace=False)
