"""Device specifications and other files that a command line names, read with errors that help."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from firmware.abi.extensions import EXTENSIONS_BY_NAME
from hostdriver.cli import emulator
from hostdriver.cli.exits import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from hostdriver.cli.emulator import DeviceSpec

_UNKNOWN: Final = "an unknown key"
"""What the device says that it found instead of a key."""
_NO_TOML: Final = "TOML"
"""What it says that it expected when a file cannot be parsed."""
_PLACE: Final = re.compile(r" \((?:at line (?P<line>\d+), column \d+|at end of document)\)")
"""Where the parser stumbled, as its message ends."""
_MOST_NAMES: Final = 8
"""Keys that are listed when none is near the unknown one."""


def read_spec(file: Path | None, *, vram_size: int | None, profile: str | None) -> DeviceSpec:
    """Return the specification in a file, with what the command line says instead.

    Raises:
        BadInput: a file that cannot be read, or a value that no device can have.
    """
    text = "" if file is None else _read_text(file)
    try:
        # By itself first, so that its mistakes are not taken for those of the command line.
        spec = emulator.make_spec(text, vram_size=None, profile=profile)
    except emulator.SpecError as error:
        raise BadInput(_told(file, text, error)) from error
    if vram_size is None:
        return spec
    try:
        return emulator.make_spec(text, vram_size=vram_size, profile=profile)
    except emulator.SpecError as error:
        raise BadInput(f"--vram: expected {error.expected}, found {error.found}") from error


def line_of(text: str, key: str) -> int | None:
    """Return the number of the line on which a TOML document sets a key or begins its table.

    A key such as `table.key` is found by its last part, wherever the table stands.
    """
    name = re.escape(key.rpartition(".")[2])
    begins = rf"""^\s*\[\s*["']?{name}["']?\s*[].]"""
    sets = re.compile(rf"""(^|[\s{{,.])["']?{name}["']?\s*=|{begins}""")
    for number, line in enumerate(text.splitlines(), start=1):
        if sets.search(line.partition("#")[0]):
            return number
    return None


def _told(file: Path | None, text: str, error: emulator.SpecError) -> str:
    """Return file, line and what is wrong there, as editors and shells find it."""
    if error.expected == _NO_TOML:
        found = str(error.found)
        place = _PLACE.search(found)
        line = _line_of_place(text, place)
        words = f"no TOML: {found[:1].lower()}{found[1:]}"
    else:
        line = line_of(text, error.key)
        words = _words_for(error)
    return f"{file}: {words}" if line is None else f"{file}:{line}: {words}"


def _line_of_place(text: str, place: re.Match[str] | None) -> int | None:
    if place is None:
        return None
    return int(place["line"] or max(1, len(text.splitlines())))


def _words_for(error: emulator.SpecError) -> str:
    """Return what an error says; for a name that does not exist, the one that was meant."""
    if error.found == _UNKNOWN:
        return _words_for_key(error)
    words = f"{error.key}: expected {error.expected}, found {error.found}"
    if error.key == "extensions":
        near = get_close_matches(str(error.found).strip("'"), EXTENSIONS_BY_NAME, n=1)
        return f"{words}; did you mean {near[0]!r}?" if near else words
    return words


def _words_for_key(error: emulator.SpecError) -> str:
    table, _, key = error.key.rpartition(".")
    names = error.expected.removeprefix("one of ").split(", ")
    near = get_close_matches(key, names, n=1)
    words = f"there is no key {error.key}"
    if near:
        return f"{words}; did you mean {f'{table}.' if table else ''}{near[0]}?"
    if len(names) <= _MOST_NAMES:
        return f"{words}; expected {error.expected}"
    return f"{words}; docs/device.toml shows all {len(names)}"


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
