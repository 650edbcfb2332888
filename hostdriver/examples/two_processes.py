"""Share GPU memory between two processes: the shortest way that is complete.

    python two_processes.py

This program allocates memory, starts itself a second time, and gives that process the 64 bytes of a
handle, here through standard input. A file, a socket or a message of MPI does as well.
"""

from __future__ import annotations

import subprocess
import sys

from hostdriver import levelzero as ze

GREETING = b"hello from the other process"


def share() -> None:
    """Allocate, export, wait until the other process has written, read."""
    with ze.connect() as driver, driver.create_context() as context:
        device = driver.devices[0]
        pointer = context.mem_alloc_device(device, 1 << 20)
        context.memory_fill(pointer, b"\0", 1 << 20)
        handle = context.mem_get_ipc_handle(pointer)
        print(f"1 MiB of device memory has a handle of {len(handle)} bytes", flush=True)

        # check=True: if the other process fails, so does this one.
        subprocess.run([sys.executable, __file__, "open"], input=handle, check=True)

        text = context.memory_read(pointer, len(GREETING))
        assert text == GREETING
        print(f"this process reads: {text.decode()}")
        context.mem_put_ipc_handle(handle)
        context.mem_free(pointer)


def open_shared() -> None:
    """Open what standard input names, and write there."""
    handle = sys.stdin.buffer.read(64)
    with ze.connect() as driver, driver.create_context() as context:
        pointer = context.mem_open_ipc_handle(driver.devices[0], handle)
        size = context.mem_get_address_range(pointer).size
        assert size == 1 << 20
        print(f"the other process was given it, and sees {size:,} bytes")
        context.memory_write(pointer, GREETING)
        context.mem_close_ipc_handle(pointer)


if __name__ == "__main__":
    if sys.argv[1:] == ["open"]:
        open_shared()
    else:
        share()
