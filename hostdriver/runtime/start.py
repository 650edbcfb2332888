"""`python -m hostdriver.runtime.start`: have the shared emulator listen.

The C library runs it for programs that find no emulator; standard output says how it went.
"""

from __future__ import annotations

import sys
from typing import Final

from firmware.link.errors import LinkError
from hostdriver.runtime.discovery import find_socket
from hostdriver.runtime.ondemand import ensure_listener, start_emulator

LISTENS: Final = "listens"
"""What it says when somebody does (hostdriver/clib/start.c)."""


def main() -> int:
    """Have an emulator listen where this user's shared one does; return the exit status."""
    try:
        ensure_listener(find_socket(), start_emulator)
    except LinkError as error:
        sys.stdout.write(f"{' '.join(str(error).split())}\n")
        return 1
    sys.stdout.write(f"{LISTENS}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
