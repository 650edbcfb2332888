"""Faults of the system that the server meets: connections that fail, close, or come late."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Final, final

import trio

from firmware.inject import Site
from firmware.inject.actions import Close, Delay, Errno

if TYPE_CHECKING:
    import socket

    from device.shell.admission import Admission
    from device.shell.server import Server
    from firmware.inject import Hit, Injector, Tap
    from firmware.link.server import Attachment

LOOK_SECONDS: Final = 0.02
"""How often a connection that waits looks whether its rule has gone."""


@final
class AdmissionTap:
    """Reaches `os.device.accept`, and `os.device.memory_file` when a client gets its segment."""

    points = frozenset({"os.device.accept", "os.device.memory_file"})

    def __init__(self, server: Server, injector: Injector) -> None:
        self._server = server
        self._injector = injector
        self._inner: Admission = server.admission
        self._hits: dict[socket.socket, Hit] = {}
        """What happens to connections that wait for their greeting."""
        self._let_go = trio.Event()

    def install(self) -> None:
        """Come in between server and system."""
        self._inner, self._server.admission = self._server.admission, self
        self._let_go = trio.Event()

    def remove(self) -> None:
        """Go out; connections that were held back go on."""
        self._server.admission = self._inner
        self._hits.clear()
        self._let_go.set()

    def accept(self, listener: socket.socket) -> socket.socket:
        """Return a new connection (see `Admission`), unless a rule refuses it."""
        hit = self._injector.ask("os.device.accept", Site())
        if hit is not None and isinstance(hit.action, Errno):
            raise _refusal(hit.action)
        connection = self._inner.accept(listener)
        if hit is not None:
            self._hits[connection] = hit
        return connection

    async def admit(self, connection: socket.socket) -> bool:
        """Let a connection wait, or say that it is gone."""
        hit = self._hits.pop(connection, None)
        match None if hit is None else hit.action:
            case Close():
                return False
            case Delay(seconds=seconds) if hit is not None:
                await self._wait(hit.rule, trio.current_time() + seconds)
            case _:
                pass
        return await self._inner.admit(connection)

    async def _wait(self, rule: str, end: float) -> None:
        """Wait until a time, or until the rule has gone, with the tap or before it."""
        while trio.current_time() < end and self._injector.has(rule):
            with trio.move_on_at(min(end, trio.current_time() + LOOK_SECONDS)):
                await self._let_go.wait()
                return

    def attachment(self, connection: socket.socket, size: int, device_index: int) -> Attachment:
        """Make the link of a client, unless a rule refuses its memory file."""
        hit = self._injector.ask("os.device.memory_file", Site(device=device_index, size=size))
        if hit is not None and isinstance(hit.action, Errno):
            raise _refusal(hit.action)
        return self._inner.attachment(connection, size, device_index)


def shell_taps(server: Server, injector: Injector) -> tuple[Tap, ...]:
    """Return the taps of an emulator's server; those of devices are `device.inject`'s."""
    return (AdmissionTap(server, injector),)


def _refusal(action: Errno) -> OSError:
    number: int = getattr(errno, action.error)
    return OSError(number, os.strerror(number))
