"""Attaching this process to an emulator: one session for each of its devices."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from firmware.abi.handshake import HandshakeStatus
from firmware.link.errors import AttachError, LinkError, NoResources, Refused
from firmware.link.linux import permit_tracing
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.runtime.discovery import find_socket, nobody_listens, nobody_listens_at
from hostdriver.runtime.ondemand import ensure_listener
from hostdriver.runtime.runner import Runner
from hostdriver.runtime.session import Session
from hostdriver.runtime.system import current

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from firmware.link.ends import HostEnd

_REFUSALS: Final = {
    HandshakeStatus.VERSION: ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_VERSION,
    HandshakeStatus.NOT_RUNNING: ZeResult.ZE_RESULT_ERROR_NOT_AVAILABLE,
    HandshakeStatus.FULL: ZeResult.ZE_RESULT_ERROR_NOT_AVAILABLE,
    HandshakeStatus.PERMISSION: ZeResult.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
}

_STARTS: Final = 2
"""How often an emulator is started for one connection: it may leave with its last client."""


class Attempt(Protocol):
    """Who hears of one attach, from before its first connection."""

    def connecting(self) -> None:
        """Hear that a connection is about to be made.

        Raises:
            LinkError: the connection fails so.
        """
        ...

    def ended(self) -> None:
        """Hear that nothing was attached, or that the driver is closed; it may not raise."""
        ...


on_attempt: Final[list[Callable[[Path, str], Attempt | None]]] = []
"""Asked at each attach, with the socket and the program's name, who wants to hear of it."""


def attach(
    socket: str | os.PathLike[str] | None = None,
    *,
    name: str = "",
    start: Callable[[Path], None] | None = None,
) -> Runner:
    """Attach to every device of an emulator.

    Args:
        socket: where it listens; None looks where `find_socket` says.
        name: what this program is called, for people; by default the program's file.
        start: starts an emulator at a path when nobody listens there; None: never.

    Raises:
        ZeError: there is no emulator, or it refuses; nothing is left open.
    """
    title = name or Path(sys.argv[0] or sys.executable).name
    # Where Yama guards processes the device could not reach memory that this one imports, and no
    # other library could pull a handle's descriptor.
    permit_tracing()
    # Errors hold what their causes say: a program without emulator sees one error and no chain.
    try:
        path = find_socket(socket)
    except LinkError as error:
        raise attach_error(error) from None
    attempts = [made for begin in on_attempt if (made := begin(path, title)) is not None]

    def connect(index: int) -> HostEnd:
        for attempt in attempts:
            attempt.connecting()
        return current.system.connect(path, title, index)

    with ExitStack() as undo:
        for attempt in attempts:
            undo.callback(attempt.ended)
        try:
            runner = Runner(_sessions(connect, path, start), socket=str(path), name=title)
        except LinkError as error:
            if nobody_listens(error):
                absent = nobody_listens_at(path, socket)
                raise ZeError(ZeResult.ZE_RESULT_ERROR_UNINITIALIZED, absent) from None
            raise attach_error(error) from None
        runner.closing += [attempt.ended for attempt in attempts]
        undo.pop_all()
    return runner


def attach_error(error: LinkError) -> ZeError:
    """Return the error of a call for which a device could not be attached."""
    result = ZeResult.ZE_RESULT_ERROR_UNINITIALIZED
    if isinstance(error, Refused):
        result = _REFUSALS.get(error.status, result)
    return ZeError(result, str(error))


def _sessions(
    connect: Callable[[int], HostEnd], path: Path, start: Callable[[Path], None] | None
) -> list[Session]:
    """Return a session for every device, or none at all."""
    ends = [_first_end(connect, path, start)]
    try:
        for index in range(1, ends[0].welcome.device_count):
            ends.append(connect(index))  # noqa: PERF401 - closed if one fails
        return [Session(end) for end in ends]
    except BaseException:
        for end in ends:
            end.close()
        raise


def _first_end(
    connect: Callable[[int], HostEnd], path: Path, start: Callable[[Path], None] | None
) -> HostEnd:
    """Attach to device 0, starting an emulator when there is none, or it leaves just now."""
    for _ in range(_STARTS):
        try:
            return connect(0)
        except AttachError as error:
            answers = isinstance(error, Refused) or isinstance(error.__cause__, TimeoutError)
            if start is None or answers or isinstance(error, NoResources):
                raise
            ensure_listener(path, start)
    return connect(0)
