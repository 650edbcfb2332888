"""What all chapters of a context stand on: the driver behind it, and whether it still lives."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hostdriver.core.failures import invalid_argument
from hostdriver.core.results import ZeError, ZeResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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

    __slots__ = ("_working", "destroyed", "devices", "driver", "faulted", "is_default")

    def __init__(
        self, driver: Driver, devices: Sequence[Device], *, is_default: bool = False
    ) -> None:
        self.driver = driver
        """The driver that made it."""
        self.devices = tuple(devices)
        """The devices that it is for."""
        self.is_default = is_default
        """Whether it is the driver's own, which nobody destroys."""
        self.faulted = ""
        """Why its work failed once, in words; whoever sees work of it fail notes it here."""
        self.destroyed = False
        """Whether it has ended."""
        self._working: list[DriverState] = []

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
            self._working.append(state)
            try:
                await make(state)
            except ZeError as error:
                if error.result is ZeResult.ZE_RESULT_ERROR_DEVICE_LOST:
                    self.faulted = self.faulted or error.description
                raise
            finally:
                self._working.remove(state)

        self.driver.run(counted)

    def work_count(self, state: DriverState) -> int:
        """Return how many calls wait for work of it now.

        Those of the parent, in whose midst this process was forked, end in the parent alone.
        """
        return self._working.count(state)

    def _check(self) -> None:
        if self.destroyed:
            raise invalid_argument("hContext was destroyed")

    def index_of(self, device: Device | None) -> int | None:
        """Return the number of a device of this context, which may be null.

        Raises:
            ZeError: it is another context's, or another driver's.
        """
        if device is None:
            return None
        if device.driver is not self.driver or not self._covers(device):
            text = f"{device} is not one of the devices of the context"
            raise self.driver.noted(invalid_argument(text))
        return device.index

    def _covers(self, device: Device) -> bool:
        """Return whether a device, its device or one of its sub-devices is the context's."""
        return any(own.index == device.index for own in self.devices)
