"""A C program's driver in a process of its own that follows rules: `hostdriver.channel.driver`.

All happens in its one thread, which serves the program.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Final, final

from firmware.link.errors import LinkError
from hostdriver.channel import driver
from hostdriver.inject.connecting import ConnectTap
from hostdriver.inject.follower import Changes, Follower
from hostdriver.inject.programs import program_taps

if TYPE_CHECKING:
    from pathlib import Path

    from hostdriver.channel.driver import RemoteDevices
    from hostdriver.channel.host import Programs

NAME: Final = "driver"
_LOG: Final = logging.getLogger(__name__)


@final
class FollowingPrograms:
    """Has the rules of the emulator reach the driver of a program (see `driver.Follower`).

    Owner: the process. Invariant: the talk about changes is watched while it is whole.
    """

    def __init__(self, path: Path, programs: Programs, devices: RemoteDevices) -> None:
        """Take the rules, before the program begins.

        Raises:
            LinkError, OSError: the emulator cannot be talked to; nothing is left open.
        """
        self._devices = devices
        self._follower = Follower(path, NAME, os.getpid())
        try:
            self._changes = Changes(path, NAME, self._follower.number, waits_seconds=None)
            self._changes.ask(self._follower.generation)
        except BaseException:
            self._follower.abandon()
            raise
        injector = self._follower.injector
        for tap in (*program_taps(programs, injector), ConnectTap(devices, injector)):
            self._follower.board.add(tap)
        devices.watch(self._changes.talk.fileno(), self._hear)

    def tell(self) -> None:
        """Tell what happened (see `driver.Follower`)."""
        self._follower.tell()

    def close(self) -> None:
        """Tell the last, and end (see `driver.Follower`)."""
        self._end()
        self._follower.close()

    def _hear(self) -> None:
        try:
            orders = self._changes.take()
            if orders is not None:
                self._follower.take(orders)
                self._changes.ask(self._follower.generation)
        except (LinkError, OSError) as problem:
            self._end()
            self._follower.lose(problem)

    def _end(self) -> None:
        if self._changes.talk.fileno() >= 0:
            self._devices.unwatch(self._changes.talk.fileno())
            self._changes.talk.close()


def follow(path: Path, programs: Programs, devices: RemoteDevices) -> FollowingPrograms | None:
    """Return what follows the rules; None, and a warning, when they cannot be followed."""
    try:
        return FollowingPrograms(path, programs, devices)
    except (LinkError, OSError) as problem:
        _LOG.warning("emuzero: the driver of a program follows no rules: %s", problem)
        return None


if __name__ == "__main__":
    sys.exit(driver.main(follow))
