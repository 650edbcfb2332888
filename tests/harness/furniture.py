"""What a client has when it has something of everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.control import Nop, ObjectKind
from firmware.abi.ids import PAGE_SIZE

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawClient

VA = 1 << 30


def nop(client: RawClient) -> Nop:
    return Nop(request=client.request())


def furnish(client: RawClient) -> None:
    """Give a client one of everything."""
    vmid = client.space()
    client.map(vmid, VA, 4 * PAGE_SIZE, client.object(4 * PAGE_SIZE))
    client.map(vmid, 2 * VA, PAGE_SIZE, client.object(PAGE_SIZE, ObjectKind.SYSTEM))
    client.open(vmid, client.export(vmid, VA, 2 * PAGE_SIZE), 3 * VA)
    client.queue(vmid)
