"""Contexts: the object whose methods are the specification's functions.

A method's name is the function's in Python's spelling: zeVirtualMemReserve is
`virtual_mem_reserve`. Pointers are integers, null handles and pointers are None, outputs are
returned, and every failure is a `ZeError` that left everything as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from hostdriver.api import device_abilities
from hostdriver.api.contexts.allocations import Allocations
from hostdriver.api.contexts.commands import Commands
from hostdriver.api.contexts.copies import Copies
from hostdriver.api.contexts.sharing import Sharing
from hostdriver.api.contexts.synchronisation import Synchronisation
from hostdriver.api.contexts.virtual import VirtualMemory
from hostdriver.api.validation import check_device
from hostdriver.core.commandqueues_uses import count_unfinished
from hostdriver.core.failures import in_use, invalid_argument
from hostdriver.core.results import ZeResult

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from hostdriver.api.device import Device
    from hostdriver.core.state import DriverState


@final
class Context(Allocations, Commands, Copies, Sharing, Synchronisation, VirtualMemory):
    """A name under which memory is used; a context manager that destroys it.

    Memory belongs to the process: any context of the driver may use, export, close and free what
    another one made, and destroying a context leaves it in place. Any thread may use it.
    Its methods stand in `contexts`, by chapter.
    """

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.destroyed and not self.is_default:
            self.destroy()

    def destroy(self) -> None:
        """Destroy the context (zeContextDestroy).

        Raises:
            ZeError: destroyed already; the driver's own; a copy of another thread is not done
                (IN_USE).
        """

        async def end(state: DriverState) -> None:
            if self.is_default:
                raise invalid_argument("the default context belongs to the driver")
            if count := await count_unfinished(state, self) + self.work_count(state):
                raise in_use(f"{count} copies or queues of the context are not done")
            self.destroyed = True

        self.run(end)

    def get_status(self) -> ZeResult:
        """Return SUCCESS, or DEVICE_LOST when its work faulted or a device of it is lost.

        Memory of a context whose work faulted stays usable, and other contexts go on.

        Raises:
            ZeError: the context was destroyed.
        """

        async def ask(_: DriverState) -> ZeResult:
            if self.faulted:
                return ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
            for index in sorted({device.index for device in self.devices}):
                status = await device_abilities.get_status(index)
                if status is not ZeResult.ZE_RESULT_SUCCESS:
                    return status
            return ZeResult.ZE_RESULT_SUCCESS

        return self.run(ask)

    def system_barrier(self, device: Device | None) -> None:
        """Return when everybody can see what a device stored before (zeContextSystemBarrier).

        Devices store to the very memory that others look at, so it is there already.

        Raises:
            ZeError: a device that is null, or not the context's; the context was destroyed.
        """
        index = self.index_of(device)
        self.look(lambda state: check_device(state, index))
