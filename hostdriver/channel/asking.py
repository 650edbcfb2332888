"""What a program's library asks before it carries out a call, and tells when it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.channel import CHANNEL_ASK, CHANNEL_TELL
from firmware.inject.catalogue.api import functions
from hostdriver.channel.items import ITEM, MalformedMessageError, Reader

if TYPE_CHECKING:
    from hostdriver.channel.ports import Caller, Gate
    from hostdriver.channel.slots import Incoming

ASKED: Final = frozenset({CHANNEL_ASK, CHANNEL_TELL})
"""Function numbers of what is asked and told about calls."""
_GO_ON: Final = (1).to_bytes(ITEM, "little")


async def answer_asked(gate: Gate, caller: Caller, message: Incoming) -> bytes:
    """Return the reply to `CHANNEL_ASK` or `CHANNEL_TELL`, which lets the call go on.

    Raises:
        MalformedMessageError: the message is shorter than its items.
        ZeError: how the call ends for the program.
    """
    reader = Reader(message.data)
    named = caller._replace(call=_name_of(reader.number()))
    if message.what == CHANNEL_ASK:
        return (await gate.before(named)).to_bytes(ITEM, "little")
    number, result = reader.number(), reader.number()
    await gate.after(named, number, result)
    return _GO_ON


def _name_of(number: int) -> str:
    """Return the name of a function, also of one that the driver does not serve.

    Raises:
        MalformedMessageError: there is none.
    """
    names = functions()
    if number >= len(names):
        raise MalformedMessageError(f"a question about function {number:#x}")
    return names[number]
