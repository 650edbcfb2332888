"""Actions on calls, messages and processes."""

from __future__ import annotations

from typing import ClassVar

from firmware.inject.actions.base import Action


class Refuse(Action, frozen=True, kw_only=True):
    """An API call that is answered without being carried out."""

    WORD: ClassVar[str] = "refuse"
    MAIN: ClassVar[str] = "result"
    TEXT: ClassVar[str] = "the call is not carried out and returns this result"
    result: str = "ZE_RESULT_ERROR_UNKNOWN"
    """A name of `ze_result_t`."""


class FailLate(Action, frozen=True, kw_only=True):
    """An API call that is carried out, and then reports a failure."""

    WORD: ClassVar[str] = "fail_late"
    MAIN: ClassVar[str] = "result"
    TEXT: ClassVar[str] = "the call is carried out with its outputs, and returns this result"
    result: str = "ZE_RESULT_ERROR_UNKNOWN"
    """A name of `ze_result_t`."""


class Errno(Action, frozen=True, kw_only=True):
    """A system call that fails."""

    WORD: ClassVar[str] = "errno"
    MAIN: ClassVar[str] = "error"
    TEXT: ClassVar[str] = "the system call fails with this error and does nothing"
    error: str = "EMFILE"
    """A name of errno(3)."""


class Delay(Action, frozen=True, kw_only=True):
    """Something that comes later, and is otherwise as it should be."""

    WORD: ClassVar[str] = "delay"
    MAIN: ClassVar[str] = "seconds"
    TEXT: ClassVar[str] = "it happens this much later; everything else goes on"
    seconds: float = 0.01


class Drop(Action, frozen=True, kw_only=True):
    """Something that never comes."""

    WORD: ClassVar[str] = "drop"
    TEXT: ClassVar[str] = "it never happens"


class Repeat(Action, frozen=True, kw_only=True):
    """Something that comes more than once."""

    WORD: ClassVar[str] = "repeat"
    MAIN: ClassVar[str] = "count"
    TEXT: ClassVar[str] = "it happens this many times more"
    count: int = 1


class Close(Action, frozen=True, kw_only=True):
    """A connection that is closed."""

    WORD: ClassVar[str] = "close"
    TEXT: ClassVar[str] = "the socket is closed"


class Kill(Action, frozen=True, kw_only=True):
    """A process that dies."""

    WORD: ClassVar[str] = "kill"
    TEXT: ClassVar[str] = "the process is killed (SIGKILL) at this point"


class Stop(Action, frozen=True, kw_only=True):
    """A process that is stopped."""

    WORD: ClassVar[str] = "stop"
    MAIN: ClassVar[str] = "seconds"
    TEXT: ClassVar[str] = "the process is stopped (SIGSTOP) at this point, and goes on after a time"
    seconds: float = 0.0
    """After how long it gets SIGCONT; 0: never, until the rule is removed."""


class Replay(Action, frozen=True, kw_only=True):
    """An old handle in place of the new one."""

    WORD: ClassVar[str] = "replay"
    TEXT: ClassVar[str] = "the handle that came here before, put since, takes this one's place"
