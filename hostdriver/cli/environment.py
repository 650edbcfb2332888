"""The environment in which programs find the driver, and the command that prints it."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Final

import click

from firmware.link.errors import AttachError
from hostdriver.cli.console import say, say_aside
from hostdriver.cli.exits import CommandError
from hostdriver.clib.build import BuildError, has_loader, library, library_path, stand_ins
from hostdriver.runtime.discovery import (
    PYTHON_VARIABLE,
    SOCKET_VARIABLE,
    find_socket,
    is_shared,
)

if TYPE_CHECKING:
    from pathlib import Path

DRIVERS_VARIABLE: Final = "ZE_ENABLE_ALT_DRIVERS"
"""Environment variable in which the loader looks for drivers."""
PATH_VARIABLE: Final = "LD_LIBRARY_PATH"
EPILOG: Final = """\b
Examples:
  eval "$(emuzero env)"             programs of this shell find the driver from now on
  ./program                         on the shared emulator of this user, which it starts
                                    when none runs and which ends after the last program
  export EMUZERO_SOCKET=/a/path     before it: on the emulator that listens there"""


def environment_for(socket: Path | None) -> dict[str, str]:
    """Return the variables by which programs find the driver and the emulator at `socket`.

    Without a socket they find the shared emulator of the user, or start it. Where no loader is
    installed, or one that is too old, the library is found in its place.

    Raises:
        CommandError: the library cannot be built.
    """
    if sys.stderr.isatty() and not library_path().exists():
        say_aside("emuzero: compiling the library that programs load; once, for a few seconds")
    try:
        variables = {
            **({PYTHON_VARIABLE: sys.executable} if socket is None else {}),
            **({} if socket is None else {SOCKET_VARIABLE: str(socket)}),
            DRIVERS_VARIABLE: str(library()),
        }
        if not has_loader():
            before = os.environ.get(PATH_VARIABLE, "")
            folders = [str(stand_ins()), *([before] if before else [])]
            variables[PATH_VARIABLE] = os.pathsep.join(folders)
    except BuildError as error:
        raise CommandError(str(error)) from error
    return variables


@click.command(epilog=EPILOG)
def command() -> None:
    """Print the shell lines by which programs find the driver.

    For shells whose programs share an emulator; `emuzero run` does all of it for one program.
    """
    try:
        socket = None if is_shared() else find_socket()
    except AttachError as error:
        raise CommandError(str(error)) from error
    for name, value in environment_for(socket).items():
        say(f"export {name}={shlex.quote(value)}")
