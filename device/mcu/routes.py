"""From the bytes of a control command to the operation that carries it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from device.core.errors import DeviceError
from firmware.abi._malformed import Malformed
from firmware.abi.control import ControlCommand
from firmware.abi.replies import Reply
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.acknowledge import Acknowledgement
    from device.core.clients import Client
    from firmware.abi.control import ControlOpcode


class Deferred(NamedTuple):
    """A reply that goes out when the engines have acknowledged."""

    reply: Reply
    acknowledgement: Acknowledgement


Outcome: TypeAlias = Reply | Deferred
CommandT = TypeVar("CommandT", bound=ControlCommand)
Operation: TypeAlias = Callable[["Client", bytes], Outcome]
"""Decodes and carries out one kind of command; raises `DeviceError`, having changed nothing."""


class Route(NamedTuple):
    """One kind of command and what carries it out."""

    opcode: ControlOpcode
    operation: Operation


def route(record: type[CommandT], carry_out: Callable[[Client, CommandT], Outcome]) -> Route:
    """Return the route of one kind of command."""
    unpack = record.unpack

    def operation(client: Client, data: bytes) -> Outcome:
        command = unpack(data)
        if isinstance(command, Malformed):
            raise DeviceError(Status.MALFORMED, command.offset)
        return carry_out(client, command)

    return Route(record.OPCODE, operation)
