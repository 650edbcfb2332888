"""The clients that the pump serves, and what it watches of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from firmware.abi.ids import Feature

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.shell.connection import Connection
    from device.shell.poller import Poller


@final
class Attached:
    """One client: its link and the way to tell it.

    Owner: the roster.
    """

    __slots__ = ("client_id", "connection", "device_index", "notifier", "watched")

    def __init__(self, device_index: int, client_id: int, connection: Connection) -> None:
        self.device_index = device_index
        self.client_id = client_id
        self.connection = connection
        event_index = Feature.EVENT_INDEX in connection.features
        self.notifier = connection.end.notifier(event_index=event_index)
        self.watched: list[int] = []
        """Descriptors of it that are in the poller."""

    def close(self) -> None:
        """Close the link; the device has detached the client."""
        self.connection.end.close()


@final
class Roster:
    """All clients of all devices of an emulator.

    Owner: the pump. Invariant: a client's descriptors are in the poller exactly while it is here.
    """

    __slots__ = ("_all", "_by_number", "_on_death", "_on_ring", "_poller")

    def __init__(
        self,
        poller: Poller,
        on_ring: Callable[[Attached], None],
        on_death: Callable[[Attached], None],
    ) -> None:
        """Watch clients with `poller`; call `on_ring` for a bell and `on_death` for an end."""
        self._poller = poller
        self._on_ring = on_ring
        self._on_death = on_death
        self._by_number: dict[tuple[int, int], Attached] = {}
        self._all: tuple[Attached, ...] = ()

    def __len__(self) -> int:
        return len(self._all)

    def all(self) -> tuple[Attached, ...]:
        """Return every client; the tuple does not change while it is walked."""
        return self._all

    def find(self, device_index: int, client_id: int) -> Attached | None:
        """Return one client, or None when it is gone."""
        return self._by_number.get((device_index, client_id))

    def add(self, device_index: int, client_id: int, connection: Connection) -> Attached:
        """Take a client and watch its bell and its death.

        Raises:
            OSError: no memory for the watches; nothing is watched.
        """
        attached = Attached(device_index, client_id, connection)
        try:
            self._watch(attached)
        except OSError:
            self._forget(attached)
            raise
        self._by_number[device_index, client_id] = attached
        self._all = tuple(self._by_number.values())
        return attached

    def remove(self, attached: Attached) -> bool:
        """Forget a client before its link is closed; return whether it was here."""
        known = self._by_number.pop((attached.device_index, attached.client_id), None)
        if known is None:
            return False
        self._all = tuple(self._by_number.values())
        self._forget(attached)
        return True

    def _watch(self, attached: Attached) -> None:
        end = attached.connection.end
        doorbell = end.doorbell.fileno()
        if doorbell is not None:
            self._poller.on_readable(doorbell, lambda: self._rung(attached))
            attached.watched.append(doorbell)
        watched = end.peer.filenos()
        if not watched:
            # A client in this process: its driver detaches it.
            return
        # The last one is the socket: descriptors that wait on it are no death.
        *pidfd, socket = watched
        for number in pidfd:
            self._poller.on_readable(number, lambda: self._on_death(attached))
            attached.watched.append(number)
        self._poller.on_hang_up(socket, lambda: self._on_death(attached))
        attached.watched.append(socket)

    def _rung(self, attached: Attached) -> None:
        # Cleared before the rings are looked at: a later ring is seen by the look or by the next
        # sleep (`firmware.link.sleep`).
        attached.connection.end.doorbell.clear()
        self._on_ring(attached)

    def _forget(self, attached: Attached) -> None:
        while attached.watched:
            self._poller.remove(attached.watched.pop())
