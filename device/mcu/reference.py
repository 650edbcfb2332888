"""The reference firmware: every control command, in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.errors import DeviceError
from device.core.firmware import Pending, refusal
from device.mcu.allocation_commands import AllocationCommands
from device.mcu.fence_commands import FenceCommands
from device.mcu.info_commands import OBSERVER_OPCODES, InfoCommands
from device.mcu.memory_commands import MemoryCommands
from device.mcu.queue_commands import QueueCommands
from device.mcu.routes import Deferred
from device.mcu.sharing_commands import SharingCommands
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.hardware import Hardware
    from device.mcu.routes import Operation


@final
class ReferenceFirmware:
    """Decodes control commands, has the hardware carry them out, and encodes the replies.

    Owner: the micro-controller, from boot to reset. It keeps nothing between commands: all state
    is the hardware's.
    """

    def __init__(self, hardware: Hardware) -> None:
        groups = (
            InfoCommands(hardware),
            MemoryCommands(hardware),
            AllocationCommands(hardware),
            QueueCommands(hardware),
            SharingCommands(hardware),
            FenceCommands(hardware),
        )
        self._operations: dict[int, Operation] = {
            int(route.opcode): route.operation for group in groups for route in group.routes()
        }

    def handle(self, client: Client, command: bytes, now: int) -> bytes | Pending:
        """Carry out one control command; see `Firmware`."""
        del now
        opcode = command[0] | command[1] << 8
        operation = self._operations.get(opcode)
        if operation is None:
            return refusal(command, Status.UNKNOWN_OPCODE)
        if not client.counted and opcode not in OBSERVER_OPCODES:
            return refusal(command, Status.UNSUPPORTED)
        try:
            outcome = operation(client, command)
        except DeviceError as refused:
            return refusal(command, refused.status, refused.detail, refused.expected)
        if not isinstance(outcome, Deferred):
            return outcome.pack()
        reply = outcome.reply.pack()
        if outcome.acknowledgement.passed:
            return reply
        return Pending(reply, outcome.acknowledgement)
