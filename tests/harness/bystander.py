"""A well-behaved client beside hostile ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.harness.commands import copy, fill
from tests.harness.process_client import RawClient, RawQueue

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 64 << 10
VA = 1 << 32


class Bystander:
    """A client of a device process that fills and copies its own memory."""

    def __init__(self, path: Path) -> None:
        self.client = RawClient(path, "bystander")
        self.vmid = self.client.space()
        self.queue: RawQueue = self.client.queue(self.vmid)
        object_id, self.stage = self.client.system(2 * SIZE)
        self.client.map(self.vmid, VA, 2 * SIZE, object_id)
        self.rounds = 0

    def works(self) -> bool:
        """Whether its commands do what they say."""
        self.rounds += 1
        byte = self.rounds & 0xFF
        done = self.queue.run(fill(VA, SIZE, byte), copy(VA, VA + SIZE, SIZE))
        return done and bytes(self.stage.view[SIZE : 2 * SIZE]) == bytes([byte]) * SIZE

    def close(self) -> None:
        self.stage.close()
        self.client.close()
