"""Where the emulator listens, and what the environment says of the driver."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from firmware.abi.extensions import EXTENSIONS_BY_NAME, Extension
from firmware.link.runtime_dir import socket_folder
from hostdriver.core.failures import invalid_argument

SOCKET_VARIABLE: Final = "EMUZERO_SOCKET"
"""Environment variable that names the emulator's socket."""
DISABLED_VARIABLE: Final = "EMUZERO_DISABLE_EXTENSIONS"
"""Environment variable that names extensions, comma separated, which this process does without."""
SHARED_SOCKET: Final = "shared.sock"
"""Socket, in the user's socket folder, of the emulator that is started on demand."""


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


def disabled_extensions() -> Extension:
    """Return the extensions that the environment switches off.

    Raises:
        ZeError: a name that no extension has.
    """
    disabled = Extension(0)
    for entry in os.environ.get(DISABLED_VARIABLE, "").split(","):
        name = entry.strip()
        if name and name not in EXTENSIONS_BY_NAME:
            raise invalid_argument(f"{DISABLED_VARIABLE} names {name!r}, which is no extension")
        if name:
            disabled |= EXTENSIONS_BY_NAME[name]
    return disabled
