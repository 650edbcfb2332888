"""The server: accepts clients on a Unix socket and attaches them to their device."""

from __future__ import annotations

import errno
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, final

import trio

from device.core.errors import DeviceError
from device.shell.admission import PlainAdmission
from device.shell.connection import Connection
from device.shell.refusals import refusal_of
from firmware.abi.handshake import HandshakeStatus, Purpose, Welcome
from firmware.link.errors import LinkError, Refused
from firmware.link.handshake import Offer, examine, name_in
from firmware.link.server import is_same_user, receive_greeting, refuse

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from device.core.device import Device
    from device.shell.admission import Admission
    from device.shell.hostmemory import HostMemory
    from device.shell.pump import Pump
    from firmware.link.handshake import Agreement
    from firmware.link.programs import FaultHost, ProgramHost
    from firmware.link.server import Attachment, Greeting

HELLO_SECONDS: Final = 5.0
"""Time in which a connection has to say hello."""
MOST_GREETINGS: Final = 64
"""Connections that may stand in the handshake at a time; one more ends the one that stands there
longest, which has had time enough: a client says hello as soon as it is connected."""
REST_SECONDS: Final = 0.05
"""Pause after the system refused a new connection, for lack of descriptors mostly."""
_BUGS: Final = {errno.EBADF, errno.EINVAL, errno.ENOTSOCK, errno.EOPNOTSUPP, errno.EFAULT}
"""What accept(2) says of a listener that is none; all else may pass, as a lack of descriptors."""


@dataclass(frozen=True, slots=True)
class ServerStatistics:
    """What the server did since it began."""

    accepted: int
    """Connections accepted."""
    attached: int
    """Clients attached."""
    refused: int
    """Clients refused, or that never said hello."""


@final
class Server:
    """Accepts connections and says yes or no to each.

    Owner: the emulator, which also owns the listening socket.
    """

    __slots__ = (
        "_accepted",
        "_attached",
        "_clock",
        "_devices",
        "_faults",
        "_greeting",
        "_listener",
        "_memory",
        "_offer",
        "_programs",
        "_pump",
        "_refused",
        "admission",
    )

    def __init__(
        self,
        listener: socket.socket,
        devices: Sequence[Device],
        pump: Pump,
        memory: HostMemory,
        clock: Callable[[], int],
    ) -> None:
        listener.settimeout(0)
        self._memory = memory
        self._listener = listener
        self._devices = tuple(devices)
        self._pump = pump
        self._clock = clock
        self._offer = Offer(device_count=len(self._devices))
        self._programs: ProgramHost | None = None
        self._faults: FaultHost | None = None
        self._greeting: dict[trio.CancelScope, None] = {}
        """Connections in the handshake, the longest there first."""
        self._accepted = self._attached = self._refused = 0
        self.admission: Admission = PlainAdmission()
        """What the system does with connections; something may come in between."""

    def statistics(self) -> ServerStatistics:
        """Return what the server did."""
        return ServerStatistics(self._accepted, self._attached, self._refused)

    def serve_programs(self, host: ProgramHost) -> None:
        """Hand C programs to `host`; without one they are refused."""
        self._programs = host

    def serve_faults(self, host: FaultHost) -> None:
        """Hand those who bring rules to `host`; without one they are refused."""
        self._faults = host

    async def run(self) -> None:
        """Accept clients until cancelled."""
        async with trio.open_nursery() as nursery:
            while True:
                connection = await self._accept()
                self._accepted += 1
                scope = trio.CancelScope()
                self._greeting[scope] = None
                if len(self._greeting) > MOST_GREETINGS:
                    longest = next(iter(self._greeting))
                    del self._greeting[longest]
                    longest.cancel()
                nursery.start_soon(self._greet, connection, scope)

    async def _accept(self) -> socket.socket:
        while True:
            await trio.lowlevel.wait_readable(self._listener)
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                continue
            except OSError as error:
                if error.errno in _BUGS:
                    raise
                await trio.sleep(REST_SECONDS)
                continue
            connection.settimeout(0)
            return connection

    async def _greet(self, connection: socket.socket, scope: trio.CancelScope) -> None:
        """Attach or refuse one client; whatever it sends or does not send ends here."""
        attached = False
        greeting: Greeting | None = None
        try:
            scope.deadline = trio.current_time() + HELLO_SECONDS
            with scope:
                await trio.lowlevel.wait_readable(connection)
                greeting = receive_greeting(connection)
            # From here on it may be held as long as a rule says, and takes nobody's place.
            self._greeting.pop(scope, None)
            if greeting is None:
                return
            attached = await self._answer(connection, greeting)
        except (LinkError, OSError):
            attached = False
        finally:
            self._greeting.pop(scope, None)
            if attached:
                self._attached += 1
            else:
                self._refused += 1
                connection.close()

    async def _answer(self, connection: socket.socket, greeting: Greeting) -> bool:
        """Return whether the sender of a greeting was attached; else it was told why not."""
        if not is_same_user(connection):
            refuse(connection, self._offer.refuse(HandshakeStatus.PERMISSION))
            return False
        agreement = examine(greeting.data, self._offer)
        if isinstance(agreement, Welcome):
            refuse(connection, agreement)
            return False
        if not await self.admission.admit(connection, agreement.hello.purpose):
            return False
        return self._serve(connection, agreement, greeting.pid)

    def _serve(self, connection: socket.socket, agreement: Agreement, pid: int | None) -> bool:
        """Attach whom nothing speaks against, or hand it over; return whether it was served."""
        if agreement.hello.purpose is Purpose.FAULTS:
            return self._hand_over(connection, agreement, self._faults)
        try:
            plan = self._devices[agreement.hello.device_index].segment_plan
        except DeviceError as error:
            refuse(connection, refusal_of(error, self._offer))
            return False
        if agreement.hello.purpose is Purpose.PROGRAM:
            return self._hand_over(connection, agreement, self._programs)
        try:
            attachment = self.admission.attachment(connection, plan.size, agreement.hello)
        except (LinkError, OSError):
            refuse(connection, self._offer.refuse(HandshakeStatus.FULL))
            return False
        return self._attach(attachment, agreement, pid)

    def _hand_over(
        self,
        connection: socket.socket,
        agreement: Agreement,
        host: ProgramHost | FaultHost | None,
    ) -> bool:
        """Let a host serve a C program, or one who brings rules; return whether it does."""
        if host is None:
            refuse(connection, self._offer.refuse(HandshakeStatus.NO_DEVICE))
            return False
        try:
            host.accept(connection, agreement)
        except Refused as refused:
            refuse(connection, self._offer.refuse(refused.status, refused.detail))
            return False
        except (LinkError, OSError):
            refuse(connection, self._offer.refuse(HandshakeStatus.FULL))
            return False
        return True

    def _attach(self, attachment: Attachment, agreement: Agreement, pid: int | None) -> bool:
        """Let the device write the segment, then tell the client; return whether it is attached.

        Its pages are those of process `pid`; None: its own.

        Raises:
            LinkError, OSError: the client is gone, or cannot be watched; nothing is left.
        """
        hello = agreement.hello
        device = self._devices[hello.device_index]
        agreement = replace(agreement, features=agreement.features & device.features)
        client = Connection(attachment.end, name_in(hello), agreement.features, self._memory, pid)
        try:
            client_id = device.attach(
                client,
                hello.purpose,
                self._clock(),
                features=agreement.features,
                abi_minor=agreement.abi_minor,
            )
        except DeviceError as error:
            attachment.refuse(refusal_of(error, self._offer))
            return False
        try:
            attached = self._pump.attach(hello.device_index, client_id, client)
        except OSError:
            device.detach(client_id, self._clock())
            attachment.refuse(self._offer.refuse(HandshakeStatus.FULL))
            raise
        try:
            attachment.welcome(agreement.welcome(attachment.end.segment.size, client_id))
        except LinkError:
            self._pump.detach(attached)
            raise
        return True
