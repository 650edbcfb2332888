"""What all chapters of a context stand on: the driver behind it, and whether it still lives."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hostdriver.core.failures import invalid_argument

if TYPE_CHECKING:
    from collections.abc import Callable

    from hostdriver.api.device import Device
    from hostdriver.api.driver import Driver
    from hostdriver.core.questions import Operation
    from hostdriver.core.state import DriverState

ResultT = TypeVar("ResultT")


class ContextBase:
    """A name under which memory is used, before it can do anything.

    Its chapters inherit from it and add methods, no state. `run`, `look` and `work_on` are for them
    and for the objects that a context makes; what they are given is called only while the context
    lives.
    """

    __slots__ = ("destroyed", "driver", "work_count")

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        """The driver that made it."""
        self.destroyed = False
        """Whether it has ended."""
        self.work_count = 0
        """Calls that wait for work of it now."""

    def run(self, make: Callable[[DriverState], Operation[ResultT]]) -> ResultT:
        """Run an operation of the driver.

        Raises:
            ZeError: the context was destroyed, or as the operation does.
        """

        async def checked(state: DriverState) -> ResultT:
            self._check()
            return await make(state)

        return self.driver.run(checked)

    def look(self, function: Callable[[DriverState], ResultT]) -> ResultT:
        """Return what a function says of the driver's state; it asks no questions.

        Raises:
            ZeError: the context was destroyed, or as the function does.
        """

        async def checked(state: DriverState) -> ResultT:
            self._check()
            return function(state)

        return self.driver.run(checked)

    def work_on(self, make: Callable[[DriverState], Operation[None]]) -> None:
        """Run an operation that waits for work; meanwhile the context cannot be destroyed.

        Raises:
            ZeError: the context was destroyed, or as the operation does.
        """

        async def counted(state: DriverState) -> None:
            self._check()
            self.work_count += 1
            try:
                await make(state)
            finally:
                self.work_count -= 1

        self.driver.run(counted)

    def _check(self) -> None:
        if self.destroyed:
            raise invalid_argument("hContext was destroyed")


def index_of(device: Device | None) -> int | None:
    """Return the number of a device, which may be null."""
    return None if device is None else device.index
