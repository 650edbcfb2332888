"""Faults of the system that the server meets: connections that fail, close, or come late."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Final, final

import trio

from device.shell.server import REST_SECONDS
from firmware.abi.handshake import Purpose
from firmware.inject import Site
from firmware.inject.actions import Close, Delay, Errno
from firmware.link.linux import has_hung_up

if TYPE_CHECKING:
    import socket

    from device.shell.admission import Admission
    from device.shell.server import Server
    from firmware.abi.handshake import Hello
    from firmware.inject import Injector, Tap
    from firmware.link.server import Attachment

EXEMPT: Final = frozenset({Purpose.FAULTS, Purpose.OBSERVE})
"""Who brings rules or looks at what happens is nobody's victim: a rule locks no owner out."""
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
        self._let_go = trio.Event()

    def install(self) -> None:
        """Come in between server and system."""
        self._inner, self._server.admission = self._server.admission, self
        self._let_go = trio.Event()

    def remove(self) -> None:
        """Go out; connections that were held back go on."""
        self._server.admission = self._inner
        self._let_go.set()

    async def admit(self, connection: socket.socket, purpose: Purpose) -> bool:
        """Let a connection wait, or say that it is gone.

        A connection that accept(2) does not give stands in the listener's queue, and the server
        tries again: to a client that is a longer wait for its answer.
        """
        if purpose in EXEMPT:
            return await self._inner.admit(connection, purpose)
        while not self._let_go.is_set():
            hit = self._injector.ask("os.device.accept", Site())
            match None if hit is None else hit.action:
                case Close():
                    return False
                case Errno() if hit is not None:
                    if not await self._wait(connection, hit.rule, REST_SECONDS):
                        return False
                case Delay(seconds=seconds) if hit is not None:
                    if not await self._wait(connection, hit.rule, seconds):
                        return False
                    break
                case _:
                    break
        return await self._inner.admit(connection, purpose)

    async def _wait(self, connection: socket.socket, rule: str, seconds: float) -> bool:
        """Wait so long, or until the rule has gone, with the tap or before it.

        Return False when the client has not waited for it.
        """
        end = trio.current_time() + seconds
        while trio.current_time() < end and self._injector.has(rule):
            if has_hung_up(connection):
                return False
            with trio.move_on_at(min(end, trio.current_time() + LOOK_SECONDS)):
                await self._let_go.wait()
                break
        return True

    def attachment(self, connection: socket.socket, size: int, hello: Hello) -> Attachment:
        """Make the link of a client, unless a rule refuses its memory file."""
        if hello.purpose not in EXEMPT:
            site = Site(device=hello.device_index, size=size)
            hit = self._injector.ask("os.device.memory_file", site)
            if hit is not None and isinstance(hit.action, Errno):
                raise _refusal(hit.action)
        return self._inner.attachment(connection, size, hello)


def shell_taps(server: Server, injector: Injector) -> tuple[Tap, ...]:
    """Return the taps of an emulator's server; those of devices are `device.inject`'s."""
    return (AdmissionTap(server, injector),)


def _refusal(action: Errno) -> OSError:
    number: int = getattr(errno, action.error)
    return OSError(number, os.strerror(number))
