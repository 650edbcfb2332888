"""Commands on fence pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.mcu.replies import done
from device.mcu.routes import route
from firmware.abi.control import (
    FencePoolClose,
    FencePoolCreate,
    FencePoolExport,
    FencePoolOpen,
    FencePoolRevoke,
)
from firmware.abi.replies import FencePoolExported, FencePoolOpened
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.engine.pools import FencePool
    from device.core.hardware import Hardware
    from device.mcu.routes import Outcome, Route


@final
class FenceCommands:
    """Carries out the commands on fence pools; keeps nothing."""

    def __init__(self, hardware: Hardware) -> None:
        self._pools = hardware.fence_pools

    def routes(self) -> list[Route]:
        """Return the route of each command."""
        return [
            route(FencePoolCreate, self._create),
            route(FencePoolClose, self._close),
            route(FencePoolExport, self._export),
            route(FencePoolOpen, self._open),
            route(FencePoolRevoke, self._revoke),
        ]

    def _create(self, client: Client, command: FencePoolCreate) -> Outcome:
        return _opened(command, *self._pools.create(client, command.request, command.slot_count))

    def _close(self, client: Client, command: FencePoolClose) -> Outcome:
        self._pools.close(client, command.pool)
        return done(command)

    def _export(self, client: Client, command: FencePoolExport) -> Outcome:
        return FencePoolExported(
            opcode=command.OPCODE,
            status=Status.OK,
            request=command.request,
            token=self._pools.export(client, command.pool),
        )

    def _open(self, client: Client, command: FencePoolOpen) -> Outcome:
        return _opened(command, *self._pools.open(client, command.request, command.token))

    def _revoke(self, client: Client, command: FencePoolRevoke) -> Outcome:
        self._pools.revoke(client, command.token)
        return done(command)


def _opened(
    command: FencePoolCreate | FencePoolOpen, number: int, pool: FencePool
) -> FencePoolOpened:
    return FencePoolOpened(
        opcode=command.OPCODE,
        status=Status.OK,
        request=command.request,
        pool=number,
        slot_count=pool.count,
        size_bytes=0 if pool.file is None else pool.file.size,
        descriptors=1,
    )
