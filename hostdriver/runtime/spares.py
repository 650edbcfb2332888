"""Mappings kept in reserve, so that a process that has no more can still give memory back.

The system lets a process at its limit of mappings (vm.max_map_count) make none, not even one that
takes the place of another. So what would free a mapping needs one first: those kept here.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, final

from firmware.abi.ids import PAGE_SIZE
from firmware.link.linux import map_apart

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.link.linux import Mapping

COUNT: Final = 3
"""A process may be one above its limit, and a range cut out of the midst of a mapping makes two
more."""


@final
class Spares:
    """A few mappings of one page that nobody uses.

    Owner: an address space. Any thread may use it.
    """

    __slots__ = ("_lock", "_pages")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: list[Mapping] = []
        self._refill()

    def spend(self, action: Callable[[], None]) -> None:
        """Carry out what failed for want of mappings, with those in reserve given up for it.

        Raises:
            OSError: as the action does, when even they are not enough.
        """
        with self._lock:
            self.close()
            try:
                action()
            finally:
                self._refill()

    def close(self) -> None:
        """Give them up."""
        while self._pages:
            self._pages.pop().close()

    def _refill(self) -> None:
        """Take as many as are missing; those that cannot be had are taken another time."""
        try:
            while len(self._pages) < COUNT:
                self._pages.append(map_apart(PAGE_SIZE))
        except OSError:
            return
