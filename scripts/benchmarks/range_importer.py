"""The importer of `bench_range`, in a process of its own: opens, closes, tells the seconds."""

from __future__ import annotations

import os
import sys

from hostdriver import levelzero as ze
from scripts.benchmarks.stand import processors, seconds_of
from tests.harness.children import hear, say


def main(path: str) -> None:
    """Open each handle that comes as a line of hex digits, and close it; say the seconds."""
    with ze.connect(path, start=None) as driver:
        context = driver.create_context()
        device = driver.devices[0]
        place = processors()
        if place.client >= 0:
            os.sched_setaffinity(0, {place.client})
        say("ready")
        while line := hear():
            handle = bytes.fromhex(line)
            pointers: list[int] = []

            def opening(handle: bytes = handle, pointers: list[int] = pointers) -> None:
                pointers.append(context.mem_open_ipc_handle(device, handle))

            elapsed = seconds_of(opening)
            context.mem_close_ipc_handle(pointers[0])
            say(repr(elapsed))


if __name__ == "__main__":
    main(sys.argv[1])
