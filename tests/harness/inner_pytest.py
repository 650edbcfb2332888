"""Runs of pytest inside of tests: the plugin as a user's tests have it, in a process of its own."""

from __future__ import annotations

import os
import re
import shutil
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import pytest

INNER: Final = Path(__file__).parents[1] / "pytestplugin" / "inner"
"""Files of tests that are run like this."""
PLUGIN: Final = "hostdriver.pytestplugin.plugin"
CACHE: Final = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
"""Where the C library is built; runs inside of tests have another home."""
_HEAD: Final = re.compile(
    r"^_+ (?:ERROR at \w+ of )?((?:\w+\.)?test_\w+(?:\[.*\])?) _+$", re.MULTILINE
)
_END: Final = re.compile(r"^=+ .* =+$", re.MULTILINE)
_SETTINGS: Final = """\
[pytest]
addopts = --strict-config --strict-markers -p no:randomly -p no:cacheprovider
filterwarnings = error
"""


class Run(NamedTuple):
    """A run that has ended."""

    folder: Path
    result: pytest.RunResult
    failures: dict[str, str]
    """What it said of each test that failed, by name."""


def plugin_arguments() -> list[str]:
    """Return what loads the plugin where no entry point does: an older environment."""
    found = [point.value for point in entry_points(group="pytest11")]
    return [] if PLUGIN in found else ["-p", PLUGIN]


def run_inner(pytester: pytest.Pytester, name: str, *arguments: str, settings: str = "") -> Run:
    """Run one of the files of tests."""
    shutil.copyfile(INNER / f"{name}.py", pytester.path / f"test_{name}.py")
    return run_here(pytester, *arguments, settings=settings)


def run_here(pytester: pytest.Pytester, *arguments: str, settings: str = "") -> Run:
    """Run the tests that stand in the folder."""
    trio = "" if "no:trio" in arguments else "trio_mode = true\n"
    (pytester.path / "pytest.ini").write_text(_SETTINGS + trio + settings)
    with pytester._monkeypatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", CACHE)
        patch.delenv("EMUZERO_SOCKET", raising=False)
        result = pytester.runpytest_subprocess(*plugin_arguments(), *arguments)
    text = str(result.stdout)
    failures: dict[str, str] = {}
    _, *parts = _HEAD.split(text)
    for name, said in zip(parts[::2], parts[1::2], strict=True):
        failures[name] = failures.get(name, "") + _END.split(said)[0]
    return Run(pytester.path, result, failures)
