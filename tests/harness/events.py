"""Queues and codes for tests of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from firmware.abi.control import QueueCreate, QueueKind
from firmware.abi.replies import QueueCreated
from firmware.abi.work import Copy, WorkFlags
from hostdriver import levelzero as ze
from hostdriver.core.calls import call
from hostdriver.core.questions import Submit
from hostdriver.core.results import ZeResult
from hostdriver.core.work_enums import EventPoolFlags
from hostdriver.testing.pair import DeviceSpec

if TYPE_CHECKING:
    from hostdriver.api.context import Context
    from hostdriver.api.events import EventBase
    from hostdriver.core.state import DriverState

SMALL = DeviceSpec(vram_size=64 << 20)
TIMES = EventPoolFlags.KERNEL_TIMESTAMP
FOREVER = (1 << 64) - 1


class Target:
    """A queue of the first device, without a command queue of the API."""

    device = 0

    def __init__(self, context: Context) -> None:
        self._context = context

        async def make(state: DriverState) -> QueueCreated:
            command = QueueCreate(
                request=0,
                vmid=state.devices[0].vmid,
                kind=QueueKind.COPY,
                entry_count=64,
                priority=0,
            )
            return await call(0, command, QueueCreated)

        self.queue = context.run(make)

    def submit(self, make: object) -> None:
        """Put the commands that `make(state)` returns into the queue."""

        async def put(state: DriverState) -> None:
            blob: bytes = make(state)  # type: ignore[operator]
            parts = tuple(blob[at : at + 64] for at in range(0, len(blob), 64))
            await Submit(0, self.queue.queue_id, parts)

        self._context.run(put)

    def signal(self, event: EventBase) -> None:
        """Signal an event around nothing."""
        self.submit(lambda state: b"".join(event.record.signal_commands(state, self)))

    def wait(self, event: EventBase) -> None:
        """Hold the queue until an event is signalled."""
        self.submit(lambda state: event.record.wait_commands(state, self))

    def fault(self) -> None:
        """Have the queue stop."""
        bad = Copy(flags=WorkFlags.NONE, tag=0, source=1 << 40, destination=1 << 40, size_bytes=1)
        self.submit(lambda _: bad.pack())


def result_of(function: object, *args: object) -> ZeResult:
    """Return the code of the error that a call raises."""
    with pytest.raises(ze.ZeError) as caught:
        function(*args)  # type: ignore[operator]
    assert caught.value.description
    return caught.value.result


NOT_READY = ZeResult.ZE_RESULT_NOT_READY
INVALID = ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT
LOST = ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
IN_USE = ZeResult.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE
WRONG_KIND = ZeResult.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT
