"""Device specifications and other files that a command line names, read with errors that help."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from hostdriver.cli import emulator
from hostdriver.cli.exits import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from hostdriver.cli.emulator import DeviceSpec

_UNKNOWN: Final = "an unknown key"
"""What the device says that it found instead of a key."""


def read_spec(file: Path | None, *, vram_size: int | None, profile: str | None) -> DeviceSpec:
    """Return the specification in a file, with what the command line says instead.

    Raises:
        BadInput: a file that cannot be read, or a value that no device can have.
    """
    text = "" if file is None else _read_text(file)
    try:
        return emulator.make_spec(text, vram_size=vram_size, profile=profile)
    except emulator.SpecError as error:
        if vram_size is not None and error.key == "vram_size":
            raise BadInput(f"--vram: expected {error.expected}, found {error.found}") from error
        line = line_of(text, error.key)
        where = f"{file}" if line is None else f"{file}, line {line}"
        raise BadInput(f"{where}: {_words_for(error)}") from error


def line_of(text: str, key: str) -> int | None:
    """Return the number of the line on which a TOML document sets a key or begins its table.

    A key such as `table.key` is found by its last part, wherever the table stands.
    """
    name = re.escape(key.rpartition(".")[2])
    sets = re.compile(rf"""(^|[\s{{,.])["']?{name}["']?\s*=|^\s*\[\s*["']?{name}["']?\s*\]""")
    for number, line in enumerate(text.splitlines(), start=1):
        if sets.search(line.partition("#")[0]):
            return number
    return None


def _words_for(error: emulator.SpecError) -> str:
    """Return what an error says; for a key that does not exist, the one that was meant."""
    table, _, key = error.key.rpartition(".")
    names = error.expected.removeprefix("one of ").split(", ")
    near = get_close_matches(key, names, n=1) if error.found == _UNKNOWN else []
    if not near:
        return str(error)
    meant = f"{table}.{near[0]}" if table else near[0]
    return f"device specification: there is no key {error.key}; did you mean {meant}?"


def read_file(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        BadInput: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error


def _read_text(path: Path) -> str:
    try:
        return read_file(path).decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is no text: byte {error.start} is no UTF-8") from error
