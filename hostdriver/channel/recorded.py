"""Appends that a program's library recorded: carried out before what was posted behind them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, final

from firmware.abi.channel import (
    CHANNEL_APPENDS_OFFSET,
    CHANNEL_APPENDS_SIZE,
    CHANNEL_LONGEST_APPEND,
    CHANNEL_NO_APPEND,
    AppendRecord,
    AppendsHeader,
)
from hostdriver.channel.arguments import read_arguments
from hostdriver.channel.calls.table import handler_of
from hostdriver.channel.items import ITEM, MalformedMessageError
from hostdriver.channel.specs import interface
from hostdriver.channel.work import ListRecord
from hostdriver.core.commandlists import CommandList
from hostdriver.core.failures import unknown
from hostdriver.core.results import ZeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.channel.slots import Incoming, Slots
    from hostdriver.core.state import DriverState

_LOG: Final = logging.getLogger(__name__)
_AT: Final = {field.name: field.offset for field in AppendsHeader.FIELDS}
_HEAD: Final = CHANNEL_APPENDS_OFFSET + _AT["head"]
_TAIL: Final = CHANNEL_APPENDS_OFFSET + _AT["tail"]
_RING: Final = CHANNEL_APPENDS_OFFSET + AppendsHeader.SIZE
_STEP: Final = 2 << 10
"""Bytes that are carried out in a turn, thirty appends: other programs have turns, too."""


@final
class Recorded:
    """The ring of appends of one program, and the messages that stand behind it.

    Owner: the program's session. Invariants: `_head` bytes were carried out; a message is given out
    when all is carried out that was recorded before it was posted. An append that fails is told by
    the next call that appends to its list or closes it; what was recorded for that list behind it
    is not carried out, until the list is reset.
    """

    __slots__ = ("_failures", "_head", "_held", "_slots", "_words")

    def __init__(self, slots: Slots) -> None:
        """Begin with the empty ring of a zeroed channel."""
        self._slots = slots
        self._words = slots.words
        self._head = 0
        self._held: list[Incoming] = []
        self._failures: dict[int, ZeError] = {}

    @property
    def is_behind(self) -> bool:
        """Whether messages wait for what was recorded before them."""
        return bool(self._held)

    def take(self, state: DriverState | None, names: Names) -> list[Incoming]:
        """Return the messages whose turn it is, after what was recorded before them.

        Raises:
            MalformedMessageError: what was recorded is nonsense; the session has to end.
        """
        self._held += self._slots.take()
        if not self._held:
            return []
        tail = self._words.load64(_TAIL)
        if tail != self._head and not self._carry_out(tail, state, names):
            return []
        held, self._held = self._held, []
        return held

    def check(self, call: Arguments) -> None:
        """Do nothing for a call whose list took all that was recorded for it.

        Raises:
            ZeError: it did not; the call appends to the list or closes it.
        """
        if not self._failures or not call.spec.name.startswith("zeCommandList"):
            return
        number = call.subject() or 0
        if call.spec.name in {"zeCommandListReset", "zeCommandListDestroy"}:
            self._failures.pop(number, None)
        elif call.spec.name.startswith(("zeCommandListAppend", "zeCommandListClose")):
            failure = self._failures.get(number)
            if failure is not None:
                raise ZeError(failure.result, f"an append before: {failure.description}")

    def _carry_out(self, tail: int, state: DriverState | None, names: Names) -> bool:
        """Carry out what was recorded, or part of it; return whether that is all."""
        if state is None or (tail - self._head) % ITEM or tail - self._head > CHANNEL_APPENDS_SIZE:
            raise MalformedMessageError(f"appends from {self._head:#x} to {tail:#x} in the ring")
        for function, data in self._records(min(tail, self._head + _STEP), tail):
            self._append(state, names, function, data)
        self._words.store64(_HEAD, self._head)
        return self._head == tail

    def _records(self, end: int, tail: int) -> Iterator[tuple[int, bytes]]:
        """Yield function and arguments of the records that begin before a place in the ring."""
        while self._head < end:
            at = self._head % CHANNEL_APPENDS_SIZE
            most = min(tail - self._head, CHANNEL_APPENDS_SIZE - at)
            start = _RING + at
            size = self._words.load32(start)
            function = self._words.load32(start + ITEM // 2)
            if not AppendRecord.SIZE <= size <= most or size % ITEM:
                raise MalformedMessageError(f"an append of {size:#x} bytes at {at:#x} of the ring")
            self._head += size
            if function == CHANNEL_NO_APPEND:
                continue
            if size > CHANNEL_LONGEST_APPEND:
                raise MalformedMessageError(f"an append of {size:#x} bytes")
            yield function, self._words.u8[start + AppendRecord.SIZE : start + size].tobytes()

    def _append(self, state: DriverState, names: Names, function: int, data: bytes) -> None:
        spec = interface().functions.get(function)
        if spec is None or not spec.recorded:
            raise MalformedMessageError(f"a record of function {function:#x}, which is no append")
        call = read_arguments(spec, data)
        number = call.subject() or 0
        if number in self._failures:
            return
        try:
            found = names.need(ListRecord, number)
        except ZeError:
            # Another thread destroyed it meanwhile: nobody is left to be told.
            return
        if not isinstance(found.target, CommandList):
            raise MalformedMessageError(f"a record for list {number}, which is immediate")
        failure = _outcome(state, names, call)
        if failure is not None:
            self._failures[number] = failure


def _outcome(state: DriverState, names: Names, call: Arguments) -> ZeError | None:
    """Carry an append out, which asks nobody as long as its list is a regular one.

    Returns why it failed, if it did, a bug of ours included.

    Raises:
        MalformedMessageError: its arguments are nonsense.
    """
    operation = handler_of(call.spec.name)(state, names, call)
    try:
        question = operation.send(None)
    except StopIteration:
        return None
    except ZeError as error:
        return error
    except MalformedMessageError:
        raise
    except Exception as bug:  # noqa: BLE001 - the program is told, and goes on
        _LOG.exception("the driver failed in %s", call.spec.name)
        return unknown(f"the driver failed in {call.spec.name}: {bug!r}")
    operation.close()
    return unknown(f"{call.spec.name} asks {question}")
