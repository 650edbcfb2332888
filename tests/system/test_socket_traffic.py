"""Between handshake and exit the socket carries descriptors only: all work goes through rings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver import levelzero as ze
from tests.harness.emulator_process import emulator_process
from tests.harness.socket_count import sent

if TYPE_CHECKING:
    from pathlib import Path


def share(path: Path) -> bytes:
    """Do the main job with two sessions of this process; return what the importer read."""
    with ze.connect(path) as driver, ze.connect(path) as other:
        exporter, importer = driver.create_context(), other.create_context()
        device = driver.devices[0]
        page = exporter.virtual_mem_query_page_size(device, 1 << 16)
        pointer = exporter.virtual_mem_reserve(3 * page)
        objects = [
            exporter.physical_mem_create(device, ze.PhysicalMemDesc(size=page)) for _ in range(3)
        ]
        for index, memory in enumerate(objects):
            exporter.virtual_mem_map(pointer + index * page, page, memory)
        exporter.memory_write(pointer + 100, bytes(range(256)) * 600)
        handle = exporter.mem_get_ipc_handle_with_properties(
            pointer + 100, [ze.IpcPhysMemHandleRangeExtDesc(256 * 600)]
        )
        opened = importer.mem_open_ipc_handle(other.devices[0], handle)
        found = importer.memory_read(opened, 256 * 600)
        importer.mem_close_ipc_handle(opened)
        exporter.mem_put_ipc_handle(handle)
        for index, memory in enumerate(objects):
            exporter.virtual_mem_unmap(pointer + index * page, page)
            exporter.physical_mem_destroy(memory)
        exporter.virtual_mem_free(pointer, 3 * page)
        return found


def test_after_the_handshake_only_descriptors_cross_the_socket(tmp_path: Path) -> None:
    with emulator_process(tmp_path) as emulator:
        told, answered = sent(), emulator.sent()

        found = share(emulator.path)

        told, answered = sent() - told, emulator.sent() - answered
    assert found == bytes(range(256)) * 600
    # Two sessions: a hello each.
    assert told == 2
    # A welcome each, and the descriptor of the memory through which each copies.
    assert answered == 4
