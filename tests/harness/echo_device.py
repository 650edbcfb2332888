"""A device that answers every control command with the same bytes, and sleeps whenever it may."""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

from firmware.abi.rings import CONSUMER_SLEEPERS, TAIL, TAIL_EVENT
from firmware.link.rings import Consumer, Producer
from firmware.link.sleep import may_sleep
from tests.harness.link_conformance import Stored
from tests.harness.link_pairs import PLAN, store_asleep

if TYPE_CHECKING:
    from firmware.link.ends import DeviceEnd


class EchoDevice:
    """Serves one client until it is gone."""

    def __init__(self, end: DeviceEnd, *, spin_seconds: float = 0.0) -> None:
        words = end.segment.words
        self.end = end
        self.commands = Consumer(words, PLAN.control_ring_offset, PLAN.control_ring)
        self.commands.disarm()
        self.replies = Producer(words, PLAN.reply_ring_offset, PLAN.reply_ring)
        self.notifier = end.notifier()
        self.spin_seconds = spin_seconds
        self.naps = 0

    def work(self) -> bool:
        """Answer what waits; return whether there was anything."""
        count = self.commands.available()
        if not count:
            return False
        for _ in range(count):
            self.replies.put(self.commands.fetch())
        self.commands.publish_head()
        old, new = self.replies.publish()
        ring = PLAN.reply_ring_offset
        notice = Stored(ring + TAIL, ring + CONSUMER_SLEEPERS, ring + TAIL_EVENT, old, new)
        self.notifier.notify([notice])
        return True

    def waits(self) -> bool:
        """Return whether there is a command."""
        return self.commands.available() > 0

    def asleep(self, *, asleep: bool = True) -> None:
        """Say whether the bell is needed."""
        store_asleep(self.end.segment.words, asleep=asleep)

    def spin(self) -> None:
        """Poll the control ring for a moment."""
        end = time.perf_counter() + self.spin_seconds
        while time.perf_counter() < end and not self.waits():
            pass

    def serve(self) -> str:
        """Serve until the client is gone; return how that was noticed."""
        doorbell = self.end.doorbell.fileno()
        assert doorbell is not None
        poll = select.poll()
        for number in (doorbell, *self.end.peer.filenos()):
            poll.register(number, select.POLLIN)
        while True:
            if self.work():
                self.spin()
                continue
            if may_sleep(self.asleep, self.waits):
                self.naps += 1
                poll.poll()
                self.end.doorbell.clear()
            self.asleep(asleep=False)
            lost = self.end.peer.lost()
            if lost:
                return lost
