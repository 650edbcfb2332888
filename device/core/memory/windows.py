"""Windows: pieces of system memory that the device can reach, each with one way to reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, final

if TYPE_CHECKING:
    from device.core.ports import RemotePages


class Window(Protocol):
    """Consecutive bytes of system memory."""

    @property
    def size(self) -> int:
        """Bytes, at least one."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether every write is refused."""
        ...

    @property
    def view(self) -> memoryview | None:
        """The bytes themselves (format "B") where the device has them mapped, else None."""
        ...

    def read_into(self, offset: int, into: memoryview) -> int:
        """Read from byte `offset` on and return the bytes moved.

        Fewer than asked for: the first byte not moved cannot be read. The caller keeps offset and
        length inside the window. May run in a worker thread.
        """
        ...

    def write_from(self, offset: int, data: memoryview) -> int:
        """Write from byte `offset` on and return the bytes moved (as in `read_into`)."""
        ...


@final
class FileWindow:
    """A memory file that the device has mapped.

    It keeps no view but the one it was given, so that the file can be closed once the window is
    unregistered and the view is released.
    """

    __slots__ = ("read_only", "size", "view")

    def __init__(self, view: memoryview, *, read_only: bool = False) -> None:
        self.view = view
        self.size = view.nbytes
        self.read_only = read_only or view.readonly

    def read_into(self, offset: int, into: memoryview) -> int:
        """Copy out of the file; never short."""
        into[:] = self.view[offset : offset + len(into)]
        return len(into)

    def write_from(self, offset: int, data: memoryview) -> int:
        """Copy into the file; never short."""
        self.view[offset : offset + len(data)] = data
        return len(data)


@final
class PagesWindow:
    """Part of a client's own memory, reached through the system at each access.

    Nothing is kept: what the client unmaps is gone at the next access, and shows as a short move.
    """

    __slots__ = ("_pages", "address", "read_only", "size")

    view = None

    def __init__(
        self, pages: RemotePages, address: int, size: int, *, read_only: bool = False
    ) -> None:
        self._pages = pages
        self.address = address
        self.size = size
        self.read_only = read_only

    def read_into(self, offset: int, into: memoryview) -> int:
        """Read the client's pages; short where they end."""
        return self._pages.read_into(self.address + offset, into)

    def write_from(self, offset: int, data: memoryview) -> int:
        """Write the client's pages; short where they end or are read only."""
        return self._pages.write_from(self.address + offset, data)
