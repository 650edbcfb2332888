"""Files that the demo shares: those that were named, else some that are always there."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hostdriver.cli.exits import BadInput
from hostdriver.cli.records import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE_TREE: Final = Path(__file__).resolve().parents[3]
_OF_SOURCE_TREE: Final = ("README.md", "ARCHITECTURE.md", "LICENSE")
_OF_PACKAGE: Final = ("exporter.py", "importer.py", "window.py")


def default_files(tree: Path = SOURCE_TREE) -> list[Path]:
    """Return files of the source tree, or of the installed package where there is no tree."""
    if (tree / "pyproject.toml").is_file():
        found = [tree / name for name in _OF_SOURCE_TREE if (tree / name).is_file()]
        if found:
            return found
    return [Path(__file__).with_name(name) for name in _OF_PACKAGE]


def check_files(paths: Sequence[Path]) -> int:
    """Return the size of all files together.

    Raises:
        BadInput: one is missing, no regular file, or cannot be read; the first that is.
    """
    return sum(_check_file(path) for path in paths)


def display_name(name: str) -> str:
    """Return a file's name as text that is safe to show and to send, whatever bytes it has."""
    return printable(os.fsencode(name).decode(errors="backslashreplace"))


def _check_file(path: Path) -> int:
    name = display_name(str(path))
    try:
        # Without waiting, as a pipe would make us.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}") from error
    try:
        found = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if stat.S_ISDIR(found.st_mode):
        raise BadInput(f"{name} is a directory, expected files")
    if not stat.S_ISREG(found.st_mode):
        raise BadInput(f"{name} is no regular file")
    return found.st_size
