"""The world around a device, in memory: tokens, memory files, a client's own pages, its port."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from device.core.ports import HostMemoryError, PagesDeniedError, SharedFile
from firmware.abi.ids import PAGE_SIZE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.abi.handshake import DescriptorNote


class CountedTokens:
    """Tokens one after another, so that one run is as the next."""

    def __init__(self) -> None:
        self.count = 0

    def token(self) -> bytes:
        self.count += 1
        return self.count.to_bytes(8, "little") + b"a token!"


class HeapFile:
    """A memory file that is only memory."""

    def __init__(self, size: int, *, read_only: bool = False) -> None:
        self.size = size
        self.content = bytearray(size)
        view = memoryview(self.content)
        self.view = view.toreadonly() if read_only else view
        self.closed = False

    @property
    def identity(self) -> tuple[int, int]:
        return 0, id(self)

    def close(self) -> None:
        assert not self.closed, "closed twice"
        self.closed = True
        # As a real mapping: it cannot go while somebody looks at it.
        self.view.release()
        self.content.append(0)


class HeapMemory:
    """Makes memory files, as many as it was told."""

    def __init__(self) -> None:
        self.room = 1 << 40
        self.files: list[HeapFile] = []

    @property
    def open_files(self) -> list[HeapFile]:
        return [file for file in self.files if not file.closed]

    def create(self, size: int) -> HeapFile:
        if size > self.room:
            raise HostMemoryError(f"no room for {size} bytes")
        self.room -= size
        file = HeapFile(size)
        self.files.append(file)
        return file


class HeapPages:
    """An address space of a client: pieces of memory, some of them read only."""

    def __init__(self) -> None:
        self.denied = False
        self._pieces: dict[int, tuple[bytearray, bool]] = {}

    def add(self, address: int, size: int, *, writable: bool = True) -> bytearray:
        content = bytearray(size)
        self._pieces[address] = (content, writable)
        return content

    def drop(self, address: int) -> None:
        del self._pieces[address]

    def _at(self, address: int, *, write: bool) -> memoryview | None:
        """Return what can be reached from an address on."""
        for start, (content, writable) in self._pieces.items():
            if start <= address < start + len(content) and (writable or not write):
                return memoryview(content)[address - start :]
        return None

    def read_into(self, address: int, into: memoryview) -> int:
        moved = 0
        while moved < len(into):
            found = self._at(address + moved, write=False)
            if found is None:
                break
            count = min(len(found), len(into) - moved)
            into[moved : moved + count] = found[:count]
            moved += count
        return moved

    def write_from(self, address: int, data: memoryview) -> int:
        moved = 0
        while moved < len(data):
            found = self._at(address + moved, write=True)
            if found is None:
                break
            count = min(len(found), len(data) - moved)
            found[:count] = data[moved : moved + count]
            moved += count
        return moved

    def probe(self, address: int, size: int, *, write: bool) -> int | None:
        if self.denied:
            raise PagesDeniedError("denied")
        at = address
        while at < address + size:
            found = self._at(at, write=write)
            if found is None:
                return at
            at += len(found)
        return None


@dataclass
class HeapPort:
    """One client as the shell would show it."""

    segment: memoryview
    pid: int = 4711
    name: str = "test"
    pages: HeapPages = field(default_factory=HeapPages)
    passed: dict[int, HeapFile | str] = field(default_factory=dict)
    """Descriptors that the client passed, by request; a text is what is wrong with one."""
    received: list[tuple[DescriptorNote, Sequence[SharedFile]]] = field(default_factory=list)
    refuses: bool = False
    """Whether the socket takes no descriptors."""

    def take_descriptor(self, request: int, *, read_only: bool) -> HeapFile | str | None:
        file = self.passed.pop(request, None)
        if isinstance(file, HeapFile) and file.view.readonly and not read_only:
            return "the file cannot be written"
        return file

    def identify_descriptor(self, request: int) -> tuple[int, int] | None:
        file = self.passed.pop(request, None)
        return file.identity if isinstance(file, HeapFile) else None

    def send_descriptors(self, note: DescriptorNote, files: Sequence[SharedFile]) -> bool:
        if self.refuses:
            return False
        self.received.append((note, files))
        return True


def pages(count: int) -> int:
    """Return so many pages in bytes."""
    return count * PAGE_SIZE
