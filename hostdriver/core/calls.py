"""Control commands as the coroutines use them: asked, answered, and refusals raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from firmware.abi.control import ControlOpcode
from firmware.abi.replies import Refused, Reply
from hostdriver.core.failures import unknown
from hostdriver.core.questions import Answer, Control
from hostdriver.core.results import Refusal

if TYPE_CHECKING:
    from firmware.abi.control import ControlCommand

ReplyT = TypeVar("ReplyT", bound=Reply)


async def exchange(
    device: int,
    command: ControlCommand,
    *,
    payload: bytes = b"",
    descriptors: tuple[int, ...] = (),
    room: int = 0,
) -> Answer:
    """Send a command to a device and return its answer, which is not a refusal.

    Args:
        device: which one.
        command: the command.
        payload: bytes that the device reads.
        descriptors: descriptors that go with it and stay the application's.
        room: bytes that it may write; they are the answer's payload.

    Raises:
        Refusal: the device refused; nothing changed.
        ZeError: the device is lost.
    """
    answer = await Control(device, command, payload, room, descriptors=descriptors)
    reply = answer.reply
    if isinstance(reply, Refused):
        raise Refusal(ControlOpcode(command.OPCODE), reply.status, reply.detail, reply.expected)
    return answer


async def call(
    device: int, command: ControlCommand, expected: type[ReplyT], *, payload: bytes = b""
) -> ReplyT:
    """Send a command and return its reply, a record of type `expected`.

    Raises:
        Refusal: the device refused; nothing changed.
        ZeError: the device is lost, or answered with another record.
    """
    answer = await exchange(device, command, payload=payload)
    return expect(answer.reply, expected)


def expect(reply: Reply, expected: type[ReplyT]) -> ReplyT:
    """Return the reply itself when it is of type `expected`.

    Raises:
        ZeError: it is not: the device broke the contract.
    """
    if not isinstance(reply, expected):
        raise unknown(
            f"the device answered request {reply.request} with {type(reply).__name__},"
            f" expected {expected.__name__}"
        )
    return reply
