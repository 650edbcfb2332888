"""Where something may come in between a program and its driver, for all sessions of a host.

At each port stands what is there by itself, until `hostdriver.inject` exchanges it for a wrapper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, final

from firmware.abi.channel import Watching
from hostdriver.channel.calls.table import handler_of
from hostdriver.core.questionbase import Question

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.channel.running import Running
    from hostdriver.channel.session import Session
    from hostdriver.core.questions import AnyQuestion, Operation
    from hostdriver.core.state import DriverState

    Answering: TypeAlias = Callable[[Session, Running, AnyQuestion], tuple[bool, object]]
    CarryOut: TypeAlias = Callable[["Caller", DriverState, Names, Arguments], Operation[None]]


class Caller(NamedTuple):
    """Who calls a function."""

    pid: int
    process: str
    """The name that the process gave itself."""
    thread: int = 0
    """The program's thread; 0 where calls are not marked."""
    call: str = ""
    """The function; empty for work beside calls."""


@final
class Later(Question[None], frozen=True):
    """Come back when somebody says so: `begin` is given what has to be called then, once."""

    begin: Callable[[Callable[[object], None]], None]


class Gate(Protocol):
    """What every call passes whose library asks for it (`Watching.ASK`)."""

    def before(self, caller: Caller) -> Operation[int]:
        """Return a number that the library is to tell with the call's end; 0: none.

        Raises:
            ZeError: how the call ends; it is not carried out.
        """
        ...

    def after(self, caller: Caller, number: int, result: int) -> Operation[None]:
        """Take note of how a call ended.

        Raises:
            ZeError: how it ends for the program instead.
        """
        ...


@final
class OpenGate:
    """Lets every call pass."""

    async def before(self, caller: Caller) -> int:
        """Return 0 (see `Gate`)."""
        del caller
        return 0

    async def after(self, caller: Caller, number: int, result: int) -> None:
        """Do nothing (see `Gate`)."""
        del caller, number, result


def carry_out(caller: Caller, state: DriverState, names: Names, call: Arguments) -> Operation[None]:
    """Carry out a call of the interface."""
    del caller
    return handler_of(call.spec.name)(state, names, call)


@final
class Ports:
    """The ports of one host's sessions.

    Owner: the host; what is exchanged stands there for all sessions, also of later programs.
    """

    __slots__ = ("_wanted", "answering", "carry_out", "closing", "gate")

    def __init__(self, answering: Answering) -> None:
        """Begin with what is there by itself; `answering` answers the questions of calls."""
        self.answering = answering
        """Answers what a call asks, as `Session.answer` does."""
        self.carry_out: CarryOut = carry_out
        """Carries out a call whose arguments are there."""
        self.gate: Gate = OpenGate()
        """What calls pass that are asked for."""
        self.closing: list[Callable[[], None]] = []
        """To be called when the host closes, before its sessions end."""
        self._wanted: dict[object, Watching] = {}

    @property
    def watching(self) -> Watching:
        """What programs are to do for those who came in between."""
        found = Watching(0)
        for watching in self._wanted.values():
            found |= watching
        return found

    def want(self, who: object, watching: Watching) -> None:
        """Note what somebody needs of programs; nothing: it needs nothing any more."""
        self._wanted.pop(who, None)
        if watching:
            self._wanted[who] = watching
