"""The child process that runs a function of a test's module: `python -m ...pytestplugin.child`."""

from __future__ import annotations

import faulthandler
import importlib
import importlib.util
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from hostdriver.pytestplugin.steps import Released, Steps

if TYPE_CHECKING:
    from types import ModuleType

    from hostdriver.pytestplugin.values import Message, Value

SHOW_STACK: Final = signal.SIGABRT
"""Lets a child say where it stands, and end."""
FAILED: Final = 1


def main() -> int:
    """Run the function that the test names; return the exit status."""
    faulthandler.enable()
    steps = Steps()
    try:
        task = steps.hear()
        steps.tell({"do": "done", "value": _call(task, steps)})
    except Released:
        return 0
    except Exception as error:  # noqa: BLE001 - the test is told of every failure
        steps.tell({"do": "failed", "text": _traceback(error)})
        return FAILED
    return 0


def _call(task: Message, steps: Steps) -> Value:
    """Call the function that a test names; return what it returned."""
    search, arguments = task["search"], task["arguments"]
    if isinstance(search, list):
        sys.path[:] = [str(place) for place in search]
    path, name = str(task["path"]), str(task["function"])
    found: object = _module(str(task["module"]), Path(path))
    for part in name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{name} of {path} is {found!r}")
    # Whether it can be sent is said where it is.
    return cast("Value", found(steps, *(arguments if isinstance(arguments, list) else [])))


def _traceback(error: Exception) -> str:
    """Return the traceback of an error as it is outside of this module."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return "".join(traceback.format_exception(error.with_traceback(frames)))


def _module(name: str, path: Path) -> ModuleType:
    """Return the module in a file, under the name that the test's process has it."""
    try:
        found = importlib.import_module(name)
    except ImportError:
        found = None
    if found is not None and os.path.realpath(found.__file__ or "") == os.path.realpath(path):
        return found
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
