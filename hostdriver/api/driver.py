"""The driver object: connects, lists devices, makes contexts."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Literal, final

from hostdriver.api import driver_queries
from hostdriver.api.context import Context
from hostdriver.api.device import Device, check_of_driver, make_devices
from hostdriver.api.structures import ContextDesc
from hostdriver.api.validation import check_flags
from hostdriver.core.enums import ContextFlags
from hostdriver.core.failures import invalid_argument, null_pointer
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.core.visibility import MASK_VARIABLE, seen_devices
from hostdriver.runtime.attach import attach
from hostdriver.runtime.discovery import is_shared
from hostdriver.runtime.ondemand import start_emulator
from hostdriver.runtime.process import Process

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from hostdriver.api.driver_structures import (
        DriverExtensionProperties,
        DriverIpcProperties,
        DriverProperties,
    )
    from hostdriver.api.structures import ChainedProperties, UnknownDesc
    from hostdriver.core.query_enums import ApiVersion
    from hostdriver.core.questions import Operation, ResultT
    from hostdriver.core.state import DriverState
    from hostdriver.runtime.runner import Runner

_DEFAULT_CONTEXT = ContextDesc()


@final
class Driver:
    """The driver in this process; a context manager that closes it.

    Any thread may use it. In a child after fork the first call attaches the child by itself: it
    has the same devices and contexts, and none of the parent's memory.
    """

    __slots__ = ("_default_context", "_last", "_process", "devices")

    def __init__(self, process: Process) -> None:
        """Use the link of `process`, and own it.

        Raises:
            ZeError: the environment leaves no device; the link is closed then.
        """
        self._process = process
        self._last = threading.local()
        state = process.current().state
        specs = [device.spec for device in state.devices]
        seen = seen_devices(specs, state.facts.visibility)
        if not seen:
            process.close()
            text = f"{MASK_VARIABLE} leaves none of {len(specs)} devices"
            raise ZeError(ZeResult.ZE_RESULT_ERROR_UNINITIALIZED, text)
        self.devices: tuple[Device, ...] = make_devices(self, state, seen)
        """The devices that this process sees (zeDeviceGet; see `core.visibility`)."""
        self._default_context = Context(self, self.devices, is_default=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def device_of(self, index: int) -> Device:
        """Return the device that stands for memory of an emulator's device, for this package.

        Where the program sees sub-devices in its place, that is the first one.

        Raises:
            ZeError: the environment hides it.
        """
        for device in self.devices:
            if device.index == index:
                return device
        raise self.noted(invalid_argument(f"{MASK_VARIABLE} hides device {index}"))

    @property
    def runner(self) -> Runner | None:
        """What answers for this process, None before a child's first call; for this package."""
        return self._process.runner

    def get_api_version(self) -> ApiVersion:
        """Return the version of the interface that the driver implements."""
        return driver_queries.API_VERSION

    def get_properties(
        self, p_next: Sequence[type[ChainedProperties] | UnknownDesc] = ()
    ) -> DriverProperties:
        """Return what the driver is; the structures whose classes are given stand in `p_next`."""
        return self.look(lambda state: driver_queries.get_properties(state, p_next))

    def get_ipc_properties(self) -> DriverIpcProperties:
        """Return what processes may share."""
        return driver_queries.get_ipc_properties()

    def get_extension_properties(self) -> list[DriverExtensionProperties]:
        """Return the extensions that there are, by name."""
        return self.look(driver_queries.get_extension_properties)

    def get_default_context(self) -> Context:
        """Return the context of all devices that is always there; it cannot be destroyed."""
        return self._default_context

    def create_context(self, desc: ContextDesc | None = _DEFAULT_CONTEXT) -> Context:
        """Make a context of all devices (zeContextCreate): a name under which memory is used.

        Raises:
            ZeError: null descriptor, unknown flags.
        """
        return self.create_context_ex(desc)

    def create_context_ex(
        self,
        desc: ContextDesc | None = _DEFAULT_CONTEXT,
        devices: Sequence[Device | None] = (),
    ) -> Context:
        """Make a context of these devices, or of all (zeContextCreateEx).

        Raises:
            ZeError: null descriptor, unknown flags, a device that is null or another driver's.
        """

        def check(_: DriverState) -> tuple[Device, ...]:
            given = tuple(check_of_driver(self, device) for device in devices)
            if desc is None:
                raise null_pointer("desc")
            check_flags(ContextFlags, desc.flags, "desc.flags")
            return given

        return Context(self, self.look(check) or self.devices)

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
            raise self.noted(error) from error.__cause__
        finally:
            if attached.state.note:
                self._last.text, attached.state.note = attached.state.note, ""

    def look(self, function: Callable[[DriverState], ResultT]) -> ResultT:
        """Return what a function says of the state; for the objects of this package.

        Raises:
            ZeError: as the function does.
        """

        async def asked(state: DriverState) -> ResultT:
            return function(state)

        return self.run(asked)

    def glance(self, function: Callable[[DriverState], ResultT]) -> ResultT:
        """Return what a function does without the lock that operations run under.

        For functions that look one object up and touch nothing but words of shared memory: events
        are set and looked at a million times.

        Raises:
            ZeError: as the function does.
        """
        try:
            return function(self._process.current().state)
        except ZeError as error:
            raise self.noted(error) from None

    def view(self, check: Callable[[DriverState], int], size: int) -> memoryview:
        """Return the bytes at the address that a check returns; for the objects of this package.

        Raises:
            ZeError: as the check does.
        """
        start = self.look(check)
        return self._process.current().runner.space.view(start, size)

    def noted(self, error: ZeError) -> ZeError:
        """Return an error that is to be this thread's last one; for the objects of this package."""
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
