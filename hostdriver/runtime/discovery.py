"""Where the emulator listens, and what the environment says of the driver."""

from __future__ import annotations

import errno
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from firmware.abi.extensions import EXTENSIONS_BY_NAME, Extension
from firmware.link.errors import AttachError
from firmware.link.runtime_dir import socket_folder
from hostdriver.core.failures import invalid_argument

if TYPE_CHECKING:
    from firmware.link.errors import LinkError

SOCKET_VARIABLE: Final = "EMUZERO_SOCKET"
"""Environment variable that names the emulator's socket."""
PYTHON_VARIABLE: Final = "EMUZERO_PYTHON"
"""Environment variable that names the interpreter by which C programs start an emulator."""
DISABLED_VARIABLE: Final = "EMUZERO_DISABLE_EXTENSIONS"
"""Environment variable that names extensions, comma separated, which this process does without."""
SHARED_SOCKET: Final = "shared.sock"
"""Socket, in the user's socket folder, of the emulator that is started on demand."""
_NOBODY_LISTENS: Final = {errno.ECONNREFUSED, errno.ENOENT}


def find_socket(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the emulator's socket: the one given, the environment's, or the shared one.

    Raises:
        AttachError: the user's socket folder cannot be used.
    """
    if given is not None:
        return Path(given)
    named = os.environ.get(SOCKET_VARIABLE, "")
    return Path(named) if named else socket_folder() / SHARED_SOCKET


def is_shared(given: str | os.PathLike[str] | None = None) -> bool:
    """Return whether `find_socket` answers the shared socket, as nobody names another."""
    return given is None and not os.environ.get(SOCKET_VARIABLE)


def nobody_listens(error: LinkError) -> bool:
    """Return whether a link could not be made because no emulator listens there."""
    cause = error.__cause__
    absent = isinstance(cause, OSError) and cause.errno in _NOBODY_LISTENS
    return absent and isinstance(error, AttachError)


def nobody_listens_at(path: Path, given: str | os.PathLike[str] | None) -> str:
    """Return what to tell when no emulator listens where `find_socket` said for `given`."""
    if is_shared(given):
        return f"no emulator listens at {path}; start one with `emuzero serve`"
    origin = "" if given is not None else f", which {SOCKET_VARIABLE} names"
    command = shlex.join(["emuzero", "serve", "--socket", str(path)])
    return f"no emulator listens at {path}{origin}; start one there with `{command}`"


def disabled_extensions() -> Extension:
    """Return the extensions that the environment switches off.

    Raises:
        ZeError: a name that no extension has.
    """
    return disabled_in(os.environ.get(DISABLED_VARIABLE, ""))


def disabled_in(text: str) -> Extension:
    """Return the extensions that the value of `DISABLED_VARIABLE` switches off.

    Raises:
        ZeError: a name that no extension has.
    """
    disabled = Extension(0)
    for entry in text.split(","):
        name = entry.strip()
        if name and name not in EXTENSIONS_BY_NAME:
            raise invalid_argument(f"{DISABLED_VARIABLE} names {name!r}, which is no extension")
        if name:
            disabled |= EXTENSIONS_BY_NAME[name]
    return disabled
