"""What the system refuses the device while it serves a client: files, mappings, descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from device.core.effects import Disconnect
from device.core.ports import HostMemoryError, PagesDeniedError
from device.inject.rounds import AroundRounds
from firmware.abi.status import Status
from firmware.inject.actions import Close, Drop, Errno

if TYPE_CHECKING:
    from collections.abc import Sequence

    from device.core.clients import Client
    from device.core.ports import RemotePages, SharedFile, SystemMemory
    from device.inject.rounds import InjectedRounds
    from firmware.abi.handshake import DescriptorNote
    from firmware.inject import Hit


@final
class MemoryFileTap:
    """Reaches `os.device.memory_file` when an object or a fence pool gets a memory file."""

    points = frozenset({"os.device.memory_file"})

    def __init__(self, rounds: InjectedRounds) -> None:
        self._rounds = rounds
        hardware = rounds.inside.blocks.hardware
        self._store, self._pools = hardware.store, hardware.fence_pools
        self._inner: SystemMemory = self._store.system_memory

    def install(self) -> None:
        """Come in between the device and its maker of files."""
        self._inner = self._store.system_memory
        self._store.system_memory = self._pools.system_memory = self

    def remove(self) -> None:
        """Go out."""
        self._store.system_memory = self._pools.system_memory = self._inner

    def create(self, size: int) -> SharedFile:
        """Return a new file (see `device.core.ports.SystemMemory`), unless a rule refuses it."""
        hit = self._rounds.ask("os.device.memory_file", self._rounds.site(size=size))
        if hit is not None:
            raise HostMemoryError(f"no memory file of {size:#x} bytes: {_error(hit)}")
        return self._inner.create(size)


@final
class InjectedPages:
    """A client's own memory that the system may not let the device look at.

    Reads and writes pass: `device.inject.clientpages` decides on them before they begin.
    """

    def __init__(self, inner: RemotePages, port: InjectedPort) -> None:
        self._inner = inner
        self._port = port

    def read_into(self, address: int, into: memoryview) -> int:
        """Read (see `device.core.ports.RemotePages`)."""
        return self._inner.read_into(address, into)

    def write_from(self, address: int, data: memoryview) -> int:
        """Write."""
        return self._inner.write_from(address, data)

    def probe(self, address: int, size: int, *, write: bool) -> int | None:
        """Look what can be accessed, unless a rule denies everything."""
        hit = self._port.ask("os.device.pages", size)
        if hit is not None:
            raise PagesDeniedError(f"process {self._port.pid}: {_error(hit)}")
        return self._inner.probe(address, size, write=write)


@final
class InjectedPort:
    """A client's port (see `device.core.ports.ClientPort`) of which calls may be refused.

    Owner: the tap, until `leave`; then it holds on to nothing of the client, whose segment would
    else stay mapped for as long as a window of it lives.
    """

    def __init__(self, client: Client, rounds: InjectedRounds) -> None:
        self.inner = client.port
        self._client: Client | None = client
        self._rounds = rounds
        self.pages: RemotePages = InjectedPages(self.inner.pages, self)

    @property
    def pid(self) -> int:
        """Its process."""
        return self.inner.pid

    @property
    def name(self) -> str:
        """The name that it gave itself."""
        return self.inner.name

    @property
    def segment(self) -> memoryview:
        """Its segment."""
        return self.inner.segment

    def take_descriptor(self, request: int, *, read_only: bool) -> SharedFile | str | None:
        """Map what came with a request, unless a rule lets the system refuse it."""
        file = self.inner.take_descriptor(request, read_only=read_only)
        if file is None or isinstance(file, str):
            return file
        hit = self.ask("os.device.map", file.size)
        if hit is None:
            return file
        size = file.size
        file.close()
        return f"no mapping of {size:#x} bytes: {_error(hit)}"

    def identify_descriptor(self, request: int) -> tuple[int, int] | None:
        """Say which file came with a request."""
        return self.inner.identify_descriptor(request)

    def send_descriptors(self, note: DescriptorNote, files: Sequence[SharedFile]) -> bool:
        """Send files, unless a rule lets the system refuse or lose them, or closes the socket."""
        hit = self.ask("os.device.send", note.size_bytes)
        if hit is None:
            return self.inner.send_descriptors(note, files)
        if isinstance(hit.action, Drop):
            return True
        if isinstance(hit.action, Close) and self._client is not None:
            lost = Disconnect(self._client.client_id, Status.DEVICE_LOST)
            self._rounds.inside.supervisor.effects.append(lost)
        return False

    def ask(self, point: str, size: int) -> Hit | None:
        """Tell the injector that a point is reached for this client."""
        if self._client is None:
            return None
        return self._rounds.ask(point, self._rounds.site(self._client, size=size))

    def leave(self) -> None:
        """Go out; what still holds on to the pages passes on."""
        if self._client is not None:
            self._client.port = self.inner
        self._client = None
        self.pages = self.inner.pages


@final
class PortTap(AroundRounds):
    """Reaches `os.device.map`, `os.device.send`, and `os.device.pages` when pages are imported."""

    points = frozenset({"os.device.map", "os.device.send", "os.device.pages"})

    def __init__(self, rounds: InjectedRounds) -> None:
        super().__init__(rounds)
        self._ports: dict[int, InjectedPort] = {}

    def install(self) -> None:
        """Come in between clients and their ports."""
        self._wrap()
        super().install()

    def remove(self) -> None:
        """Go out."""
        for port in self._ports.values():
            port.leave()
        self._ports.clear()
        super().remove()

    def before(self, now: int) -> None:
        """Come in for clients that have come since; nothing was done for them yet."""
        del now
        self._wrap()

    def _wrap(self) -> None:
        clients = self.rounds.state.clients
        for number in self._ports.keys() - clients.keys():
            self._ports.pop(number).leave()
        for number in clients.keys() - self._ports.keys():
            client = clients[number]
            client.port = self._ports[number] = InjectedPort(client, self.rounds)


def _error(hit: Hit) -> str:
    return hit.action.error if isinstance(hit.action, Errno) else hit.action.WORD
