"""Attaching this process to an emulator: one session for each of its devices."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

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
    try:
        return Runner(_sessions(path, title, start), socket=str(path), name=title)
    except LinkError as error:
        if nobody_listens(error):
            absent = nobody_listens_at(path, socket)
            raise ZeError(ZeResult.ZE_RESULT_ERROR_UNINITIALIZED, absent) from None
        raise attach_error(error) from None


def attach_error(error: LinkError) -> ZeError:
    """Return the error of a call for which a device could not be attached."""
    result = ZeResult.ZE_RESULT_ERROR_UNINITIALIZED
    if isinstance(error, Refused):
        result = _REFUSALS.get(error.status, result)
    return ZeError(result, str(error))


def _sessions(path: Path, name: str, start: Callable[[Path], None] | None) -> list[Session]:
    """Return a session for every device, or none at all."""
    ends = [_first_end(path, name, start)]
    try:
        for index in range(1, ends[0].welcome.device_count):
            ends.append(current.system.connect(path, name, index))  # noqa: PERF401 - closed if one fails
        return [Session(end) for end in ends]
    except BaseException:
        for end in ends:
            end.close()
        raise


def _first_end(path: Path, name: str, start: Callable[[Path], None] | None) -> HostEnd:
    """Attach to device 0, starting an emulator when there is none, or it leaves just now."""
    for _ in range(_STARTS):
        try:
            return current.system.connect(path, name)
        except AttachError as error:
            answers = isinstance(error, Refused) or isinstance(error.__cause__, TimeoutError)
            if start is None or answers or isinstance(error, NoResources):
                raise
            ensure_listener(path, start)
    return current.system.connect(path, name)
