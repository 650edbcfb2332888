"""A Level Zero program in a process of its own; a test tells it what to do, in lines of JSON."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hostdriver import levelzero as ze
from tests.harness.children import Child, child, obey

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

PAGE = 64 << 10


class Program:
    """The program, seen from the test."""

    def __init__(self, process: Child) -> None:
        self.process = process
        self._ready = False

    def do(self, function: str, *arguments: int | str | bytes) -> Any:  # noqa: ANN401 - JSON
        """Have a function of `Actions` called; return its result, or the name of its error."""
        if not self._ready:
            assert self.process.hear() == "ready"
            self._ready = True
        plain = [a.hex() if isinstance(a, bytes) else a for a in arguments]
        self.process.say(json.dumps([function, *plain]))
        return json.loads(self.process.hear())


@contextmanager
def program(path: Path) -> Generator[Program]:
    """Run a program on the emulator at `path`."""
    with child("tests.harness.ze_program", "main", path) as process:
        yield Program(process)


class Actions:
    """What the program can do."""

    def __init__(self, driver: ze.Driver) -> None:
        self.driver = driver
        self.device = driver.devices[0]
        self.context = driver.create_context()
        self.objects: list[ze.PhysicalMem] = []

    def descriptors(self) -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only

    def make(self, size: int, host: int = 0) -> int:
        """Make a physical object; return its place in the list."""
        flags = ze.PhysicalMemFlags(2 if host else 1)
        desc = ze.PhysicalMemDesc(size, flags)
        self.objects.append(self.context.physical_mem_create(self.device, desc))
        return len(self.objects) - 1

    def allocate(self, size: int, host: int = 0) -> int:
        """Allocate device or host memory."""
        if host:
            return self.context.mem_alloc_host(size)
        return self.context.mem_alloc_device(self.device, size)

    def release(self, pointer: int) -> None:
        """Free allocated memory."""
        self.context.mem_free(pointer)

    def send_descriptor(self, path: str, handle: str) -> None:
        """Send the descriptor in a handle to whoever listens on a socket."""
        number = int.from_bytes(bytes.fromhex(handle)[:4], "little")
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            socket.send_fds(connection, [b"!"], [number])

    def reserve(self, size: int) -> int:
        return self.context.virtual_mem_reserve(size)

    def map(self, va: int, size: int, number: int, offset: int) -> None:
        self.context.virtual_mem_map(va, size, self.objects[number], offset)

    def free(self, va: int, size: int) -> None:
        self.context.virtual_mem_free(va, size)

    def unmap(self, va: int, size: int) -> None:
        self.context.virtual_mem_unmap(va, size)

    def destroy(self, number: int) -> None:
        self.context.physical_mem_destroy(self.objects[number])

    def write(self, va: int, data: str) -> None:
        self.context.memory_write(va, bytes.fromhex(data))

    def read(self, va: int, size: int) -> str:
        return self.context.memory_read(va, size).hex()

    def get(self, va: int, size: int) -> str:
        chain = [ze.IpcPhysMemHandleRangeExtDesc(size)]
        return self.context.mem_get_ipc_handle_with_properties(va, chain).hex()

    def get_plain(self, va: int) -> str:
        return self.context.mem_get_ipc_handle(va).hex()

    def put(self, handle: str) -> None:
        self.context.mem_put_ipc_handle(bytes.fromhex(handle))

    def open(self, handle: str) -> int:
        return self.context.mem_open_ipc_handle(self.device, bytes.fromhex(handle))

    def close(self, pointer: int) -> None:
        self.context.mem_close_ipc_handle(pointer)

    def range_of(self, pointer: int) -> list[int]:
        return list(self.context.mem_get_address_range(pointer))

    def poke(self, pointer: int, data: str) -> None:
        """Store bytes by the CPU."""
        raw = bytes.fromhex(data)
        self.context.host_view(pointer, len(raw))[:] = raw

    def peek(self, pointer: int, size: int) -> str:
        """Load bytes by the CPU."""
        return bytes(self.context.host_view(pointer, size)).hex()


def main(path: str) -> None:
    """Be the program."""
    with ze.connect(path, start=None) as driver:
        obey(Actions(driver))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
