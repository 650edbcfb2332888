"""Commands on work queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.engine import Priority
from device.core.errors import DeviceError
from device.mcu.replies import done
from device.mcu.routes import Deferred, route
from firmware.abi.control import QueueCreate, QueueDestroy, QueueReset
from firmware.abi.replies import QueueCreated
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.hardware import Hardware
    from device.mcu.routes import Outcome, Route

_PRIORITIES: Final = frozenset(int(priority) for priority in Priority)
_PRIORITY_AT: Final = next(f.offset for f in QueueCreate.FIELDS if f.name == "priority")


@final
class QueueCommands:
    """Carries out the commands on work queues; keeps nothing."""

    def __init__(self, hardware: Hardware) -> None:
        self._queues = hardware.queues

    def routes(self) -> list[Route]:
        """Return the route of each command."""
        return [
            route(QueueCreate, self._create),
            route(QueueDestroy, self._destroy),
            route(QueueReset, self._reset),
        ]

    def _create(self, client: Client, command: QueueCreate) -> Outcome:
        if command.priority not in _PRIORITIES:
            raise DeviceError(Status.MALFORMED, _PRIORITY_AT)
        queue, doorbell = self._queues.create(
            client, command.vmid, command.kind, command.entry_count, command.priority
        )
        return QueueCreated(
            opcode=command.OPCODE,
            status=Status.OK,
            request=command.request,
            queue_id=queue.queue_id,
            doorbell=doorbell,
            ring_offset=queue.header,
            entry_count=command.entry_count,
        )

    def _destroy(self, client: Client, command: QueueDestroy) -> Outcome:
        return Deferred(done(command), self._queues.destroy(client, command.queue_id))

    def _reset(self, client: Client, command: QueueReset) -> Outcome:
        return Deferred(done(command), self._queues.reset(client, command.queue_id))
