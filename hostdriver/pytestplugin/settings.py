"""What a test's emulator is to be: from the marker, the command line, the ini file, in this order.

Imported in every run of pytest, so that it imports nothing but pytest.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MARKER: Final = "emuzero"
SCOPES: Final = ("test", "session")
PROFILES: Final = ("spec", "intel")
DRIVERS: Final = ("inline", "process")


@dataclass
class Wanted:
    """What a test's emulator is to be, and how the test is looked after."""

    devices: int | None = None
    """How many; None: as many as the specification says, else one."""
    vram: str | None = None
    """Memory of each device, as `2GiB`."""
    spec: str | None = None
    """Path of a device specification, or its text."""
    profile: str | None = None
    """`spec` or `intel`."""
    driver: str | None = None
    """Where drivers of C programs run: `inline` or `process`."""
    scope: str = "test"
    """`test`: an emulator of the test's own; `session`: one for all tests that want the same."""
    trace: bool = False
    """Whether calls of C programs are recorded, for tests that fail."""
    leaks: bool = True
    """Whether a test that leaves something behind fails."""

    @property
    def devices_key(self) -> tuple[object, ...]:
        """What emulators that tests may share have in common."""
        return (self.devices, self.vram, self.spec, self.profile, self.driver, self.trace)


@dataclass(frozen=True)
class _Setting:
    """One setting, as ini option `emuzero_NAME` and command line option `--emuzero-NAME`."""

    name: str
    help: str
    convert: Callable[[str], object]


def _count(text: str) -> int:
    number = int(text, 0)
    if number < 1:
        raise ValueError(f"{number}, expected 1 or more")
    return number


def _truth(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise ValueError(f"{text!r}, expected true or false")
    return words[text.lower()]


def _one_of(*words: str) -> Callable[[str], str]:
    def convert(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r}, expected {' or '.join(words)}")
        return text

    return convert


_SETTINGS: Final = (
    _Setting("devices", "how many devices an emulator has", _count),
    _Setting("vram", "memory of each device, such as 512MiB", str),
    _Setting("spec", "device specification: a TOML file (docs/device.toml)", str),
    _Setting("profile", "whose behaviour devices show: spec or intel", _one_of(*PROFILES)),
    _Setting("driver", "where drivers of C programs run: inline or process", _one_of(*DRIVERS)),
    _Setting("scope", "an emulator for each test, or for all: test or session", _one_of(*SCOPES)),
    _Setting("trace", "record the calls of C programs for tests that fail", _truth),
    _Setting("leaks", "whether a test that leaves something behind fails", _truth),
)


def add_settings(parser: pytest.Parser) -> None:
    """Let pytest know the options."""
    group = parser.getgroup("emuzero", "emulated GPUs (emuzero)")
    for setting in _SETTINGS:
        group.addoption(
            f"--emuzero-{setting.name}", dest=f"emuzero_{setting.name}", help=setting.help
        )
        parser.addini(f"emuzero_{setting.name}", setting.help, default="")


def settings_of(config: pytest.Config) -> Wanted:
    """Return what emulators of this run are, where no marker says otherwise.

    Raises:
        pytest.UsageError: an option has a value that it does not take.
    """
    wanted = Wanted()
    for setting in _SETTINGS:
        name = f"emuzero_{setting.name}"
        option: str | None = config.getoption(name)
        text = str(config.getini(name)) if option is None else option
        if text:
            folder = config.rootpath if option is None else config.invocation_params.dir
            _set(wanted, setting, text, folder, name)
    return wanted


def wanted_by(item: pytest.Item) -> Wanted:
    """Return what the emulator of one test is to be.

    Raises:
        pytest.UsageError: an option or a marker says something that nobody understands.
    """
    wanted = copy(settings_of(item.config))
    known = {setting.name: setting for setting in _SETTINGS}
    # The closest marker comes last, and wins.
    for marker in reversed([*item.iter_markers(MARKER)]):
        unknown = [*map(repr, marker.args), *sorted(set(marker.kwargs) - set(known))]
        if unknown:
            raise pytest.UsageError(
                f"{item.nodeid}: the marker {MARKER} has {unknown[0]}; it takes"
                f" {', '.join(known)}, by name"
            )
        for name, value in marker.kwargs.items():
            where = f"{item.nodeid}: the marker {MARKER}, {name}"
            _set(wanted, known[name], str(value), item.path.parent, where)
    return wanted


def _set(wanted: Wanted, setting: _Setting, text: str, folder: Path, where: str) -> None:
    try:
        value = setting.convert(text)
    except ValueError as error:
        raise pytest.UsageError(f"{where}: {error}") from None
    if setting.name == "spec" and not is_text(text):
        value = str(folder / text)
    setattr(wanted, setting.name, value)


def is_text(spec: str) -> bool:
    """Return whether a specification is its own text: a path holds no equals sign."""
    return "=" in spec
