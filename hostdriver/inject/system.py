"""System calls of the driver that fail: which points a question passes, and how a failure looks."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from typing import TYPE_CHECKING, Final, final

from firmware.inject.actions import Errno
from firmware.link.errors import AttachError
from hostdriver.core.questions import (
    Control,
    Duplicate,
    GiveDescriptor,
    JoinSlots,
    MakeTicket,
    MapDescriptor,
    ProtectNone,
    Reserve,
)
from hostdriver.runtime.system import System, current

if TYPE_CHECKING:
    from collections.abc import Generator

    from firmware.inject import Hit
    from firmware.link.segment import Segment
    from hostdriver.core.questions import AnyQuestion

PREFIX: Final = "os.driver."
SEND: Final = "os.driver.send"
RECEIVE: Final = "os.driver.receive"
CONNECT: Final = "os.driver.connect"
_POINT_OF: Final[dict[type, str]] = {
    Reserve: "os.driver.reserve",
    MapDescriptor: "os.driver.map",
    JoinSlots: "os.driver.map",
    ProtectNone: "os.driver.protect",
    MakeTicket: "os.driver.ticket",
    GiveDescriptor: "os.driver.dup",
    Duplicate: "os.driver.duplicate",
}


def point_of(question: AnyQuestion) -> str:
    """Return the point that a question to the system passes; empty for none."""
    return _POINT_OF.get(type(question), "")


def place_of(question: AnyQuestion) -> tuple[int, int]:
    """Return address and size that a question is about; -1 and 0 where it is about none."""
    match question:
        case MapDescriptor() | ProtectNone():
            return question.va, question.size
        case Reserve():
            return question.hint or -1, question.size
        case JoinSlots():
            return -1, question.size
        case Control():
            return -1, len(question.payload)
        case _:
            return -1, 0


def number_of(hit: Hit) -> int:
    """Return the number of the error that a hit lets a system call fail with."""
    name = hit.action.error if isinstance(hit.action, Errno) else "EIO"
    found: int = getattr(errno, name)
    return found


def error_of(hit: Hit) -> OSError:
    """Return the error that a hit lets a system call fail with."""
    number = number_of(hit)
    return OSError(number, f"{os.strerror(number)} (injected by rule {hit.rule!r})")


@final
class FaultySystem(System):
    """The system, of which single calls fail.

    Owner: the tap that put it in the place of the other. `_failing` has the error of the call that
    each thread makes next, by its point.
    """

    __slots__ = ("_failing",)

    def __init__(self) -> None:
        self._failing: dict[tuple[int, str], OSError] = {}

    @contextlib.contextmanager
    def failing(self, point: str, error: OSError) -> Generator[None]:
        """Let the next call at a point fail in this thread, once at most."""
        key = threading.get_ident(), point
        self._failing[key] = error
        try:
            yield
        finally:
            self._failing.pop(key, None)

    def _check(self, *points: str) -> None:
        for point in points:
            error = self._failing.pop((threading.get_ident(), point), None)
            if error is not None:
                raise error

    def reserve(self, size: int, address: int = 0) -> int:
        """Reserve addresses (see `System`)."""
        self._check("os.driver.reserve")
        return super().reserve(size, address)

    def map_at(self, address: int, size: int, descriptor: int, offset: int) -> None:
        """Map a file (see `System`)."""
        self._check("os.driver.map")
        super().map_at(address, size, descriptor, offset)

    def adopt(self, descriptor: int, size: int) -> Segment:
        """Map a memory file anywhere (see `System`)."""
        try:
            self._check("os.driver.map")
        except OSError as error:
            raise AttachError(f"segment of {size:#x} bytes cannot be mapped: {error}") from error
        return super().adopt(descriptor, size)

    def reserve_again(self, address: int, size: int) -> None:
        """Make addresses inaccessible again (see `System`)."""
        self._check("os.driver.protect")
        super().reserve_again(address, size)

    def create_memory(self, name: str, size: int) -> int:
        """Make a memory file (see `System`)."""
        self._check("os.driver.ticket")
        return super().create_memory(name, size)

    def dup(self, descriptor: int) -> int:
        """Return one more descriptor (see `System`)."""
        self._check("os.driver.dup", "os.driver.duplicate")
        return super().dup(descriptor)

    def take_descriptor(self, process: int, descriptor: int) -> int:
        """Return a descriptor of another process (see `System`)."""
        self._check("os.driver.duplicate")
        return super().take_descriptor(process, descriptor)


class SystemSwitch:
    """Puts a system that fails in the place of the other, as often as it is asked to.

    Owner: this module; several drivers of a process share its system.
    """

    def __init__(self) -> None:
        self.system = FaultySystem()
        self._before: System | None = None
        self._uses = 0

    def install(self) -> None:
        """Put it in, or count one more who needs it."""
        if not self._uses:
            self._before, current.system = current.system, self.system
        self._uses += 1

    def remove(self) -> None:
        """Take it out when nobody needs it any more."""
        self._uses -= 1
        if not self._uses and self._before is not None:
            current.system, self._before = self._before, None


switch: Final = SystemSwitch()
"""Of this process."""
