"""Between handshake and exit the socket carries descriptors only: all work goes through rings."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING

from firmware.abi.handshake import DescriptorNote
from firmware.link.descriptors import Packet, receive_packet, send_packet
from firmware.link.errors import LinkLost
from firmware.link.runtime_dir import connect_socket, listen_socket
from hostdriver import levelzero as ze
from tests.harness.emulator_process import emulator_process

if TYPE_CHECKING:
    import socket
    from collections.abc import Generator
    from pathlib import Path

MOST = 4096


class Tap:
    """Sits between clients and a device, passes every packet on and keeps what it saw."""

    def __init__(self, path: Path, device: Path) -> None:
        self._listener = listen_socket(path)
        self._device = device
        self._lock = threading.Lock()
        self.hellos = 0
        self.packets: list[tuple[bytes, int]] = []
        """Data and number of descriptors of each packet after a handshake, in both directions."""
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            device = connect_socket(self._device)
            self._pass(receive_packet(client, MOST), device)
            self._pass(receive_packet(device, MOST), client)
            self.hellos += 1
            for source, target in ((client, device), (device, client)):
                thread = threading.Thread(target=self._forward, args=(source, target), daemon=True)
                thread.start()
                self._threads.append(thread)

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with source, contextlib.suppress(LinkLost, OSError):
            while True:
                packet = receive_packet(source, MOST)
                with self._lock:
                    self.packets.append((packet.data, len(packet.descriptors)))
                self._pass(packet, target)
        with contextlib.suppress(OSError):
            target.shutdown(2)

    @staticmethod
    def _pass(packet: Packet, target: socket.socket) -> None:
        with packet.descriptors as descriptors:
            numbers = [descriptors.take() for _ in range(len(descriptors))]
        try:
            send_packet(target, packet.data, numbers)
        finally:
            for number in numbers:
                os.close(number)

    def close(self) -> None:
        self._listener.shutdown(2)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)


@contextlib.contextmanager
def tapped(folder: Path, device: Path) -> Generator[Tap]:
    tap = Tap(folder / "tap.sock", device)
    try:
        yield tap
    finally:
        tap.close()


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
    with emulator_process(tmp_path) as emulator, tapped(tmp_path, emulator.path) as tap:
        found = share(tmp_path / "tap.sock")

    assert found == bytes(range(256)) * 600
    assert tap.hellos >= 1
    # Staging memory of each session's copies: nothing else needed the socket.
    assert 1 <= len(tap.packets) <= 4
    for data, descriptors in tap.packets:
        note = DescriptorNote.unpack(data)
        assert isinstance(note, DescriptorNote)
        assert note.count == descriptors >= 1
