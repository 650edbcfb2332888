"""The emulator that programs of this shell would use: where, whether it answers, its version."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from firmware.abi.handshake import HandshakeStatus, Purpose
from firmware.link.client import connect
from firmware.link.errors import AttachError, LinkError, Refused
from hostdriver.cli.doctor.finding import Finding, fine, problem
from hostdriver.runtime.discovery import (
    SOCKET_VARIABLE,
    find_socket,
    is_shared,
    nobody_listens,
    nobody_listens_at,
)

if TYPE_CHECKING:
    from pathlib import Path

NAME = "emuzero doctor"


class Emulator(NamedTuple):
    """What was found of it."""

    finding: Finding
    device_count: int
    """Devices that it has; 1 while none runs."""


def check_emulator(socket: Path | None = None) -> Emulator:
    """Return what is to be said of the emulator."""
    try:
        path = find_socket(socket)
    except AttachError as error:
        text = f"the socket folder cannot be used: {error}"
        return Emulator(problem("emulator", text, "make it yours alone: chmod 700"), 1)
    try:
        end = connect(path, NAME, purpose=Purpose.OBSERVE)
    except LinkError as error:
        return Emulator(_absent(path, socket, error), 1)
    with_devices = end.welcome.device_count
    version = f"{end.welcome.abi_major}.{end.welcome.abi_minor}"
    text = f"process {end.peer.pid} at {path}, contract {version}, devices: {with_devices}"
    end.close()
    return Emulator(fine("emulator", text), with_devices)


def _absent(path: Path, socket: Path | None, error: LinkError) -> Finding:
    if isinstance(error, Refused):
        advice = "see `emuzero status`"
        if error.status is HandshakeStatus.VERSION:
            advice = "end it: another version of emuzero started it"
        return problem("emulator", f"the one at {path} refuses: {error}", advice)
    if not nobody_listens(error):
        return problem("emulator", f"the one at {path} does not answer: {error}", "end it")
    if is_shared(socket):
        return fine("emulator", f"none runs at {path}: programs start it, or `emuzero run`")
    origin = f"unset {SOCKET_VARIABLE}" if os.environ.get(SOCKET_VARIABLE) else "start it"
    return problem("emulator", nobody_listens_at(path, socket), origin + ", or use `emuzero run`")
