"""`os.driver.connect`: connections of drivers to their emulator that fail, close, or come late."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final, final

from firmware.inject import Site
from firmware.inject.actions import Close, Delay, Errno
from firmware.link.client import attach
from firmware.link.handshake import say_hello
from firmware.link.runtime_dir import connect_socket, not_connected
from hostdriver.inject.system import CONNECT, error_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from firmware.inject import Hit, Injector
    from hostdriver.channel.driver import RemoteDevices

LOOK_SECONDS: Final = 0.02
"""How often a driver whose connection is late looks for changed rules."""


def meet(hit: Hit, path: Path, name: str, hold: Callable[[Hit, float], None]) -> None:
    """Have a connection be late, or fail, as a hit says.

    Args:
        hit: what was decided.
        path: the emulator's socket.
        name: what the program is called.
        hold: waits so long, or until the rule is gone.

    Raises:
        LinkError: the system gives no connection, or it was closed before the emulator answered.
    """
    match hit.action:
        case Errno():
            error = error_of(hit)
            raise not_connected(path, error) from error
        case Close():
            connection = connect_socket(path)
            connection.shutdown(socket.SHUT_RDWR)
            # Nobody hears the hello: what follows is what the link makes of that.
            attach(connection, say_hello(name)).close()
        case Delay(seconds=seconds):
            hold(hit, seconds)
        case _:
            pass


@final
class ConnectTap:
    """Reaches the point where the driver of a C program in a process of its own connects."""

    points = frozenset({CONNECT})

    def __init__(self, devices: RemoteDevices, injector: Injector) -> None:
        self._devices = devices
        self._injector = injector

    def install(self) -> None:
        """Come in."""
        self._devices.connecting = self._connecting

    def remove(self) -> None:
        """Go out."""
        self._devices.connecting = None

    def _connecting(self, path: Path, name: str, pid: int) -> None:
        hit = self._injector.ask(CONNECT, Site(pid=pid, process=name))
        if hit is not None:
            meet(hit, path, name, self._hold)

    def _hold(self, hit: Hit, seconds: float) -> None:
        """Wait so long, or until the rule is gone, or the emulator."""
        self._devices.wait(
            seconds,
            LOOK_SECONDS,
            lambda: self._injector.has(hit.rule) and not self._devices.is_gone,
        )
