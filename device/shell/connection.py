"""One client as the shell knows it: the device core's port to the other end of a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.shell.hostmemory import MemoryFile, ProcessPages, identity_of
from firmware.link.carrier import CarrierFull
from firmware.link.descriptors import DescriptorsLost
from firmware.link.errors import ContractError, LinkLost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from device.core.ports import SharedFile
    from device.shell.hostmemory import HostMemory
    from firmware.abi.handshake import DescriptorNote
    from firmware.abi.ids import Feature
    from firmware.link.descriptors import Descriptors
    from firmware.link.ends import DeviceEnd


@final
class Connection:
    """The port of one client (see `device.core.ports.ClientPort`).

    Owner: the pump. It holds no state but the link's end, which the pump closes after the device
    has detached the client.
    """

    __slots__ = ("_memory", "_pid", "end", "features", "name", "pages")

    def __init__(
        self,
        end: DeviceEnd,
        name: str,
        features: Feature,
        memory: HostMemory,
        pid: int | None = None,
    ) -> None:
        """Speak for the client at the other end of `end`, with whom `features` were agreed.

        Its pages are those of process `pid`; None: of the one at the other end.
        """
        self._memory = memory
        self.features = features
        self.end = end
        self.name = name
        self._pid = end.peer.pid if pid is None else pid
        self.pages = ProcessPages(self._pid)

    @property
    def pid(self) -> int:
        """Its process; 0 when that stands in another PID namespace."""
        return self._pid

    @property
    def segment(self) -> memoryview:
        """Its segment."""
        return self.end.segment.view

    def take_descriptor(self, request: int, *, read_only: bool) -> SharedFile | str | None:
        """Take the memory file that came with a request (see `ClientPort`)."""
        received = self._take(request)
        if received is None or isinstance(received, str):
            return received
        with received as descriptors:
            if len(descriptors) != 1:
                return f"{len(descriptors)} descriptors came with the request, expected 1"
            return self._memory.adopt(descriptors.take(), read_only=read_only)

    def identify_descriptor(self, request: int) -> tuple[int, int] | None:
        """Return which file came with a request (see `ClientPort`)."""
        received = self._take(request)
        if received is None or isinstance(received, str):
            return None
        with received as descriptors:
            return identity_of(descriptors.peek()) if len(descriptors) == 1 else None

    def _take(self, request: int) -> Descriptors | str | None:
        """Return what came with a request; None if nothing did; a sentence if it was lost."""
        try:
            received = self.end.carrier.take(request)
        except LinkLost:
            return None
        except (DescriptorsLost, ContractError) as error:
            return str(error)
        return None if received is None else received.descriptors

    def send_descriptors(self, note: DescriptorNote, files: Sequence[SharedFile]) -> bool:
        """Send memory files; False when the client is gone or does not read."""
        numbers = [file.descriptor for file in files if isinstance(file, MemoryFile)]
        try:
            self.end.carrier.send(note, numbers)
        except (LinkLost, CarrierFull, OSError):
            return False
        return True
