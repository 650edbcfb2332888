"""Replies that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.replies import Done
from firmware.abi.status import Status

if TYPE_CHECKING:
    from firmware.abi.control import ControlCommand


def done(command: ControlCommand) -> Done:
    """Return the reply of a command without results."""
    return Done(opcode=command.OPCODE, status=Status.OK, request=command.request)
