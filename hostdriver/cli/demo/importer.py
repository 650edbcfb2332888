"""The importer's process: `python -m hostdriver.cli.demo.importer SOCKET`.

It is given 64 bytes and nothing else. It opens them, asks the driver how large the memory is, finds
names and lengths in the memory itself, reads every file through its own page table, and writes a
reply where the exporter will see it.
"""

from __future__ import annotations

import hashlib
import os
import sys
from typing import TYPE_CHECKING, Final, final

from firmware.abi.ipc import IpcHandle
from hostdriver.cli.demo.client import CHUNK, DemoError, connect, play, tell, walk_tables
from hostdriver.cli.demo.content import (
    HEADER_SIZE,
    REPLY_SIZE,
    Entry,
    make_reply,
    read_header,
    read_manifest,
    read_reply,
)
from hostdriver.cli.demo.events import FileHash, Finished, Opened, Replied, Verified
from hostdriver.cli.demo.trace import Trace
from hostdriver.cli.records import hexadecimal
from hostdriver.cli.sizes import counted

if TYPE_CHECKING:
    from hostdriver import levelzero as ze

HANDLE_SIZE: Final = IpcHandle.SIZE


@final
class Importer:
    """The importer's side of the story.

    Owner: its process. The steps are called in the order in which they stand here.
    """

    def __init__(self, driver: ze.Driver, trace: Trace) -> None:
        self._driver = driver
        self._trace = trace
        self._va = 0
        self._size = 0
        with trace.call("zeContextCreate"):
            self._context = driver.create_context()

    def open(self, handle: bytes) -> None:
        """Open the handle and ask how large the memory is."""
        with self._trace.call("zeMemOpenIpcHandle", handle=counted(len(handle), "byte")) as call:
            self._va = self._context.mem_open_ipc_handle(self._driver.devices[0], handle)
            call.result = hexadecimal(self._va)
        with self._trace.call("zeMemGetAddressRange", ptr=hexadecimal(self._va)) as call:
            window = self._context.mem_get_address_range(self._va)
            call.result = f"base {hexadecimal(window.base)}, {counted(window.size, 'byte')}"
        self._size = window.size
        tell(Opened(len(handle), self._va, self._size))
        tell(walk_tables(self._driver, self._va, self._size))

    def verify(self) -> list[str]:
        """Read every file that the manifest lists; return the hashes of what was read."""
        header = read_header(self._read("header", 0, HEADER_SIZE), self._size)
        manifest = self._read("manifest", HEADER_SIZE, header.manifest_size)
        entries = read_manifest(manifest, self._size)
        files = [FileHash(entry.name, entry.size, self._hash(entry)) for entry in entries]
        tell(Verified(files, [entry.sha256 for entry in entries]))
        return [file.sha256 for file in files]

    def reply(self, hashes: list[str]) -> None:
        """Write a reply at the end of the window."""
        text = make_reply(hashes, os.getpid())
        at = self._va + self._size - REPLY_SIZE
        with self._trace.call("memory_write", to=hexadecimal(at), what="the reply"):
            self._context.memory_write(at, text)
        tell(Replied(read_reply(text)))

    def close(self) -> None:
        """Close the memory."""
        with self._trace.call("zeMemCloseIpcHandle", ptr=hexadecimal(self._va)):
            self._context.mem_close_ipc_handle(self._va)
        with self._trace.call("zeContextDestroy"):
            self._context.destroy()

    def _read(self, what: str, offset: int, size: int) -> bytes:
        at = self._va + offset
        with self._trace.call("memory_read", at=hexadecimal(at), what=what) as call:
            data = self._context.memory_read(at, size)
            call.result = counted(size, "byte")
        return data

    def _hash(self, entry: Entry) -> str:
        digest = hashlib.sha256()
        into = bytearray(min(CHUNK, entry.size))
        at = self._va + entry.offset
        with self._trace.call("memory_read", at=hexadecimal(at), what=entry.name) as call:
            for done in range(0, entry.size, CHUNK):
                part = memoryview(into)[: min(CHUNK, entry.size - done)]
                self._context.memory_read_into(at + done, part)
                digest.update(part)
            call.result = counted(entry.size, "byte")
        return digest.hexdigest()


def main(socket: str) -> None:
    """Play the importer's part."""
    handle = sys.stdin.buffer.read(HANDLE_SIZE)
    if len(handle) != HANDLE_SIZE:
        raise DemoError(f"given {counted(len(handle), 'byte')} of a handle, expected {HANDLE_SIZE}")
    trace = Trace(tell)
    with connect(socket, "demo importer", trace) as driver:
        importer = Importer(driver, trace)
        importer.open(handle)
        importer.reply(importer.verify())
        # The end of standard input is the sign to leave, and comes if the parent dies.
        more = len(sys.stdin.buffer.read())
        importer.close()
    tell(Finished(received=HANDLE_SIZE + more))


if __name__ == "__main__":
    play(main)
