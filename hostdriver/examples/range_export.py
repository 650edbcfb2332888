"""Give another process one range of addresses that several physical objects stand behind.

Extension: ZE_extension_ipc_phys_mem_handle_range (Level Zero 1.18). Run it, or copy it:

    python range_export.py

Two processes take part. All that goes from one to the other are the 64 bytes of a handle.
"""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING

from hostdriver import levelzero as ze

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

EXTENSION = "ZE_extension_ipc_phys_mem_handle_range"
QUESTION = b"Do you see what I see?"
ANSWER = b"Every byte, through a page table of my own."


def exporter(link: Connection[bytes, bytes]) -> None:
    """Build the range, export a window of it, and wait for the answer."""
    with ze.connect(name="exporter") as driver, driver.create_context() as context:
        device = driver.devices[0]
        assert EXTENSION in {found.name for found in driver.get_extension_properties()}
        page = context.virtual_mem_query_page_size(device, 1 << 16)

        print("Three objects lie side by side, each mapped from its second page on:", flush=True)
        start = context.virtual_mem_reserve(16 * page)
        objects: list[ze.PhysicalMem] = []
        size = 0
        for pages in (2, 3, 4):
            physical = context.physical_mem_create(device, ze.PhysicalMemDesc(pages * page))
            length = (pages - 1) * page
            context.virtual_mem_map(start + size, length, physical, offset=page)
            objects.append(physical)
            size += length

        print("The window begins at an odd byte of the first and ends in the last:", flush=True)
        window, window_size = start + 1001, size - 2002
        context.memory_write(window, QUESTION)
        handle = context.mem_get_ipc_handle_with_properties(
            window, [ze.IpcPhysMemHandleRangeExtDesc(window_size)]
        )
        assert len(handle) == 64

        print("A range with a hole cannot be exported, and an empty one neither:", flush=True)
        for bad_size, result in (
            (16 * page - 1001, ze.ZeResult.ZE_RESULT_ERROR_ADDRESS_NOT_FOUND),
            (0, ze.ZeResult.ZE_RESULT_ERROR_INVALID_SIZE),
        ):
            bad = ze.IpcPhysMemHandleRangeExtDesc(bad_size)
            try:
                context.mem_get_ipc_handle_with_properties(window, [bad])
            except ze.ZeError as error:
                assert error.result is result
            else:
                raise AssertionError(f"{bad} was exported")

        link.send_bytes(handle)
        assert link.recv_bytes() == b"answered"
        answer = context.memory_read(window + window_size - len(ANSWER), len(ANSWER))
        assert answer == ANSWER
        print(f"The exporter reads in its own memory: {answer.decode()}", flush=True)

        context.mem_put_ipc_handle(handle)
        context.virtual_mem_free(start, 16 * page)
        for physical in objects:
            context.physical_mem_destroy(physical)


def importer(link: Connection[bytes, bytes]) -> None:
    """Open the 64 bytes: the memory itself tells how large it is."""
    handle = link.recv_bytes()
    with ze.connect(name="importer") as driver, driver.create_context() as context:
        print(f"The importer was given {len(handle)} bytes, and opens them:", flush=True)
        window = context.mem_open_ipc_handle(driver.devices[0], handle)
        base, size = context.mem_get_address_range(window)
        assert base == window
        question = context.memory_read(window, len(QUESTION))
        assert question == QUESTION
        print(f"The importer reads: {question.decode()}", flush=True)
        context.memory_write(window + size - len(ANSWER), ANSWER)
        context.mem_close_ipc_handle(window)
    link.send_bytes(b"answered")


if __name__ == "__main__":
    here, there = multiprocessing.Pipe()
    fork = multiprocessing.get_context("fork")
    process = fork.Process(target=importer, args=(there,), name="importer", daemon=True)
    process.start()
    there.close()
    exporter(here)
    process.join()
    assert process.exitcode == 0
