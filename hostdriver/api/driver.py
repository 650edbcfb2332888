"""The driver object: connects, lists devices, makes contexts."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Literal, final

from hostdriver.api.context import Context
from hostdriver.api.device import Device
from hostdriver.api.structures import ContextDesc
from hostdriver.api.validation import check_flags
from hostdriver.core.enums import ContextFlags
from hostdriver.core.failures import null_pointer
from hostdriver.core.results import ZeError
from hostdriver.runtime.attach import attach
from hostdriver.runtime.discovery import is_shared
from hostdriver.runtime.ondemand import start_emulator
from hostdriver.runtime.process import Process

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from hostdriver.core.questions import Operation, ResultT
    from hostdriver.core.state import DriverState

_DEFAULT_CONTEXT = ContextDesc()


@final
class Driver:
    """The driver in this process; a context manager that closes it.

    Any thread may use it. In a child after fork the first call attaches the child by itself: it
    has the same devices and contexts, and none of the parent's memory.
    """

    __slots__ = ("_last", "_process", "devices")

    def __init__(self, process: Process) -> None:
        self._process = process
        self._last = threading.local()
        state = process.current().state
        self.devices: tuple[Device, ...] = tuple(
            Device(state, index) for index in range(len(state.devices))
        )
        """The devices, in the emulator's order (zeDeviceGet)."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def create_context(self, desc: ContextDesc | None = _DEFAULT_CONTEXT) -> Context:
        """Make a context (zeContextCreate): a name under which memory is used.

        Raises:
            ZeError: null descriptor, unknown flags.
        """
        if desc is None:
            raise self._noted(null_pointer("desc"))
        try:
            check_flags(ContextFlags, desc.flags, "desc.flags")
        except ZeError as error:
            raise self._noted(error) from None
        return Context(self)

    def get_last_error_description(self) -> str:
        """Return one sentence about the last call of this thread that failed or ignored something.

        The text is empty when there was none (zeDriverGetLastErrorDescription).
        """
        text: str = getattr(self._last, "text", "")
        return text

    def close(self) -> None:
        """Give everything back and leave; a second call does nothing."""
        self._process.close()

    def run(self, make: Callable[[DriverState], Operation[ResultT]]) -> ResultT:
        """Run a driver operation; for the objects of this package.

        Raises:
            ZeError: as the operation does.
        """
        attached = self._process.current()
        try:
            return attached.runner.run(make(attached.state))
        except ZeError as error:
            raise self._noted(error) from error.__cause__
        finally:
            if attached.state.note:
                self._last.text, attached.state.note = attached.state.note, ""

    def view(self, check: Callable[[DriverState], int], size: int) -> memoryview:
        """Return the bytes at the address that a check returns; for the objects of this package.

        Raises:
            ZeError: as the check does.
        """

        async def checked(state: DriverState) -> int:
            return check(state)

        start = self.run(checked)
        return self._process.current().runner.space.view(start, size)

    def _noted(self, error: ZeError) -> ZeError:
        self._last.text = error.description
        return error


def connect(
    socket: str | os.PathLike[str] | None = None,
    *,
    name: str = "",
    start: Callable[[Path], None] | Literal["shared"] | None = "shared",
) -> Driver:
    """Attach this process to an emulator and return its driver.

    Args:
        socket: where the emulator listens; None: the environment's EMUZERO_SOCKET, else the shared
            one of this user.
        name: what this program is called in the emulator's tables.
        start: what to do when nobody listens: "shared" starts the shared emulator, and no other; a
            function starts one at the path that it is given; None fails.

    Raises:
        ZeError: no emulator, or it refuses.
    """
    if start == "shared":
        start = start_emulator if is_shared(socket) else None
    starter = start
    return Driver(Process(lambda: attach(socket, name=name, start=starter)))
