"""Programs that tests start in the background in place of an emulator."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from firmware.link.runtime_dir import connect_socket, listen_socket

END = b"end"


def listen(path: str) -> None:
    """Listen until somebody says `END`; note who this is beside the socket."""
    facts = f"{os.getppid()} {os.getsid(0)} {Path.cwd()} {len(os.listdir('/proc/self/fd'))}"  # noqa: PTH208 - names only
    with listen_socket(Path(path)) as listener:
        Path(path).with_suffix(".facts").write_text(facts, encoding="utf-8")
        print("listening", flush=True)  # noqa: T201 - it is what the log has to hold
        connection, _ = listener.accept()
        while connection.recv(16) != END:
            connection.close()
            connection, _ = listener.accept()
    Path(path).unlink()
    # Whoever sent it hears of the end when nobody listens any more.
    connection.close()


def fail(path: str) -> None:
    """End before anybody could connect."""
    print(f"no room for {Path(path).name}", file=sys.stderr)  # noqa: T201 - see above
    sys.exit(3)


def end(path: Path) -> None:
    """Let a listener end (to be called by the test); return when it has."""
    with connect_socket(path) as connection:
        connection.send(END, socket.MSG_NOSIGNAL)
        assert connection.recv(16) == b""


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
