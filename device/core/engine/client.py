"""A client as the engines see it: words of its segment, fence slots, fault ring, own memory."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, final

from device.core.engine.arguments import CLIENT_LIMIT
from device.core.engine.faults import FaultReporter
from device.core.engine.pools import SEGMENT_POOL, FencePool
from device.core.memory import PagesWindow
from firmware.link.words import Words

if TYPE_CHECKING:
    from device.core.engine.queue import WorkQueue
    from device.core.ports import RemotePages
    from firmware.abi.segment import Superblock


@final
class EngineClient:
    """What the engines need of one client.

    Owner: the device's record of the client, which keeps the segment mapped while a queue of it is
    known to the scheduler. Nothing here survives the client.
    """

    __slots__ = (
        "client_id",
        "faults",
        "pace",
        "past_commands",
        "pools",
        "queue_pace",
        "ready",
        "window",
        "words",
    )

    def __init__(
        self,
        client_id: int,
        segment: memoryview | Words,
        layout: Superblock,
        pages: RemotePages,
    ) -> None:
        """Join the segment that `layout` describes; fault ring and registers are formatted."""
        self.client_id = client_id
        self.words = segment if isinstance(segment, Words) else Words(segment)
        self.window = PagesWindow(pages, 0, CLIENT_LIMIT)
        """The client's own memory, for commands that carry a client-memory flag."""
        self.past_commands = 0
        """Commands completed by queues that are gone."""
        self.ready: deque[WorkQueue] = deque()
        """Its queues that stand in line; for the `Line` alone."""
        self.pace = 0
        """Bytes that copy engines moved for it, by its share; for the `CopyEngines` alone."""
        self.queue_pace = 0
        """The pace of its queue that was served last; for the `CopyEngines` alone."""
        self.pools = {
            SEGMENT_POOL: FencePool.in_segment(self, layout.fences_offset, layout.fence_count)
        }
        """Fence pools by the numbers that its commands use."""
        self.faults = FaultReporter(client_id, self.words, layout)
