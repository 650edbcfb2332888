"""The exporter's process: `python -m hostdriver.cli.demo.exporter SOCKET`.

It builds a range from three physical objects, loads files into it through the copy engine, exports
a window of it, and reads the importer's reply through its own mapping.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, final

from hostdriver import levelzero as ze
from hostdriver.cli.demo.client import CHUNK, DemoError, connect, play, tell, walk_tables
from hostdriver.cli.demo.content import (
    REPLY_SIZE,
    Entry,
    Header,
    digest_of,
    manifest_room,
    pack_manifest,
    read_reply,
)
from hostdriver.cli.demo.events import (
    Built,
    Exported,
    FileHash,
    Finish,
    Finished,
    Load,
    Loaded,
    Part,
    ReadReply,
    ReplySeen,
    decode_order,
)
from hostdriver.cli.demo.inputs import display_name
from hostdriver.cli.demo.trace import Trace
from hostdriver.cli.demo.window import plan
from hostdriver.cli.records import hexadecimal
from hostdriver.cli.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.cli.demo.events import Order
    from hostdriver.cli.demo.window import Piece

LETTERS: Final = "ABC"
"""Names of the objects on the screen."""

OrderT = TypeVar("OrderT", bound="Order")


class Source(NamedTuple):
    """A file that is to be shared."""

    path: Path
    name: str
    size: int

    @classmethod
    def of(cls, path: bytes) -> Source:
        """Return what is at a path.

        Raises:
            OSError: nothing is there any more.
        """
        where = Path(os.fsdecode(path))
        return cls(where, display_name(where.name), where.stat().st_size)


@final
class Exporter:
    """The exporter's side of the story.

    Owner: its process. The steps are called in the order in which they stand here.
    """

    def __init__(self, driver: ze.Driver, trace: Trace, sources: Sequence[Source]) -> None:
        with trace.call("zeContextCreate"):
            context = driver.create_context()
        device = driver.devices[0]
        names, sizes = [source.name for source in sources], [source.size for source in sources]
        self._driver = driver
        self._context = context
        self._trace = trace
        self._sources = sources
        self._room = manifest_room(names, sizes)
        self._layout = plan(
            self._room, sizes, lambda size: context.virtual_mem_query_page_size(device, size)
        )
        self._va = 0
        self._objects: list[ze.PhysicalMem] = []
        self._entries: list[Entry] = []
        self._handle = b""

    @property
    def _window(self) -> int:
        """Address of the window's first byte."""
        return self._va + self._layout.window_offset

    def build(self) -> None:
        """Reserve addresses, make three objects, map a part of each side by side."""
        size = self._layout.range_size
        with self._trace.call("zeVirtualMemReserve", size=hexadecimal(size)) as call:
            self._va = self._context.virtual_mem_reserve(size)
            call.result = hexadecimal(self._va)
        for letter, piece in zip(LETTERS, self._layout.pieces, strict=True):
            self._add_object(letter, piece)
        parts = [
            Part(piece.object_size, piece.object_offset, self._va + piece.va_offset, piece.size)
            for piece in self._layout.pieces
        ]
        tell(Built(parts, self._window, self._layout.window_size))

    def load(self) -> None:
        """Copy the files into the window, then the manifest with their hashes, then the header."""
        for source, offset in zip(self._sources, self._layout.file_offsets, strict=True):
            with self._trace.call(
                "memory_write", to=hexadecimal(self._window + offset), what=source.name
            ) as call:
                sha256 = self._copy_in(source, self._window + offset)
                call.result = counted(source.size, "byte")
            self._entries.append(Entry(source.name, source.size, offset, sha256))
        header = Header(self._layout.window_size, self._room)
        with self._trace.call(
            "memory_write", to=hexadecimal(self._window), what="header and manifest"
        ):
            self._context.memory_write(
                self._window, header.pack() + pack_manifest(self._entries, self._room)
            )
        files = [FileHash(entry.name, entry.size, entry.sha256) for entry in self._entries]
        tell(Loaded(files, [self._objects_of(entry) for entry in self._entries]))
        tell(walk_tables(self._driver, self._window, self._layout.window_size))

    def export(self) -> None:
        """Get the 64 bytes."""
        size = self._layout.window_size
        with self._trace.call(
            "zeMemGetIpcHandleWithProperties",
            ptr=hexadecimal(self._window),
            range_size=str(size),
        ) as call:
            self._handle = self._context.mem_get_ipc_handle_with_properties(
                self._window, [ze.IpcPhysMemHandleRangeExtDesc(size)]
            )
            call.result = counted(len(self._handle), "byte")
        tell(Exported(self._handle))

    def read_reply(self) -> None:
        """Read what the importer wrote, through the mapping that was here all the time."""
        at = self._window + self._layout.reply_offset
        with self._trace.call("memory_read", at=hexadecimal(at), what="the reply") as call:
            text = read_reply(self._context.memory_read(at, REPLY_SIZE))
            call.result = counted(REPLY_SIZE, "byte")
        wanted = digest_of(entry.sha256 for entry in self._entries)
        tell(ReplySeen(text, text.endswith(wanted)))

    def give_back(self) -> None:
        """Revoke the handle, unmap, destroy and free, in the order of the specification."""
        trace, context = self._trace, self._context
        with trace.call("zeMemPutIpcHandle"):
            context.mem_put_ipc_handle(self._handle)
        for physical, piece in zip(self._objects, self._layout.pieces, strict=True):
            va = self._va + piece.va_offset
            with trace.call("zeVirtualMemUnmap", ptr=hexadecimal(va), size=hexadecimal(piece.size)):
                context.virtual_mem_unmap(va, piece.size)
            with trace.call("zePhysicalMemDestroy"):
                context.physical_mem_destroy(physical)
        with trace.call("zeVirtualMemFree", ptr=hexadecimal(self._va)):
            context.virtual_mem_free(self._va, self._layout.range_size)
        with trace.call("zeContextDestroy"):
            context.destroy()

    def _add_object(self, letter: str, piece: Piece) -> None:
        device = self._driver.devices[0]
        size = hexadecimal(piece.object_size)
        with self._trace.call("zePhysicalMemCreate", size=size) as call:
            desc = ze.PhysicalMemDesc(piece.object_size)
            physical = self._context.physical_mem_create(device, desc)
            call.result = f"object {letter}"
        self._objects.append(physical)
        va = self._va + piece.va_offset
        with self._trace.call(
            "zeVirtualMemMap",
            ptr=hexadecimal(va),
            size=hexadecimal(piece.size),
            object=letter,
            offset=hexadecimal(piece.object_offset),
        ):
            self._context.virtual_mem_map(va, piece.size, physical, piece.object_offset)

    def _objects_of(self, entry: Entry) -> str:
        """Return the letters of the objects in which a file lies."""
        first = self._layout.window_offset + entry.offset
        last = first + max(0, entry.size - 1)
        return "".join(
            letter
            for letter, piece in zip(LETTERS, self._layout.pieces, strict=True)
            if first < piece.va_offset + piece.size and last >= piece.va_offset
        )

    def _copy_in(self, source: Source, va: int) -> str:
        """Copy a file to `va`; return its SHA-256.

        Raises:
            DemoError: it is not as long as it was.
        """
        digest = hashlib.sha256()
        done = 0
        with source.path.open("rb") as file:
            while part := file.read(CHUNK):
                if done + len(part) > source.size:
                    raise DemoError(f"{source.name} grew while it was read")
                digest.update(part)
                self._context.memory_write(va + done, part)
                done += len(part)
        if done != source.size:
            raise DemoError(f"{source.name} shrank while it was read")
        return digest.hexdigest()


def _order(kind: type[OrderT]) -> OrderT:
    """Wait for the parent's next order; the parent's end is the end of the wait.

    Raises:
        DemoError: the parent has ended, or orders something else.
    """
    line = sys.stdin.buffer.readline()
    if not line:
        raise DemoError("the parent of the exporter has ended")
    order = decode_order(line)
    if not isinstance(order, kind):
        raise DemoError(f"ordered {type(order).__name__}, expected {kind.__name__}")
    return order


def main(socket: str) -> None:
    """Play the exporter's part."""
    order = _order(Load)
    trace = Trace(tell)
    with connect(socket, "demo exporter", trace) as driver:
        exporter = Exporter(driver, trace, [Source.of(path) for path in order.paths])
        exporter.build()
        exporter.load()
        exporter.export()
        _order(ReadReply)
        exporter.read_reply()
        _order(Finish)
        exporter.give_back()
    tell(Finished())


if __name__ == "__main__":
    play(main)
