"""Commands that only ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.mcu.payload import room, write_records
from device.mcu.replies import done
from device.mcu.routes import route
from firmware.abi.control import ControlOpcode, GetProperties, GetStatistics, Nop
from firmware.abi.replies import Statistics
from firmware.abi.status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from device.core.clients import Client
    from device.core.hardware import Hardware
    from device.mcu.routes import Outcome, Route
    from firmware.abi._record import Record

OBSERVER_OPCODES: Final = frozenset(
    {ControlOpcode.NOP, ControlOpcode.GET_PROPERTIES, ControlOpcode.GET_STATISTICS}
)
"""All that a client may say that attached to observe."""


@final
class InfoCommands:
    """Carries out the commands that only ask; keeps nothing."""

    def __init__(self, hardware: Hardware) -> None:
        self._reports = hardware.reports

    def routes(self) -> list[Route]:
        """Return the route of each command."""
        return [
            route(Nop, lambda _, command: done(command)),
            route(GetProperties, self._properties),
            route(GetStatistics, self._statistics),
        ]

    def _properties(self, client: Client, command: GetProperties) -> Outcome:
        record = self._reports.properties(client, command.subject, command.target)
        return _write(client, command, type(record), [record])

    def _statistics(self, client: Client, command: GetStatistics) -> Outcome:
        kind, records = self._reports.statistics(command.subject)
        return _write(client, command, kind, records)


def _write(
    client: Client,
    command: GetProperties | GetStatistics,
    kind: type[Record],
    records: Sequence[Record],
) -> Statistics:
    """Put what fits into the payload area and tell how much there is."""
    area = room(client, command.payload_offset, command.payload_size)
    return Statistics(
        opcode=command.OPCODE,
        status=Status.OK,
        request=command.request,
        count=write_records(area, records, kind.SIZE),
        total=len(records),
        record_size=kind.SIZE,
    )
