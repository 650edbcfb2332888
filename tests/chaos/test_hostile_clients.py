"""Invariant: the device answers hostile clients or ends them, and serves everybody else.

Whatever a client does to its segment and its socket, nothing is lost.
"""

from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING

import pytest

from firmware.abi.control import Nop, ObjectCreate, SegmentRegister
from firmware.abi.control_kinds import ObjectFlags, ObjectKind
from firmware.abi.handshake import DescriptorNote, Hello, Welcome
from firmware.abi.registers import RESET_REQUEST
from firmware.abi.replies import Done, Refused
from firmware.abi.rings import TAIL
from firmware.abi.status import Status
from firmware.link.descriptors import receive_packet, send_packet
from firmware.link.errors import LinkError
from firmware.link.linux import create_memory
from firmware.link.runtime_dir import connect_socket
from firmware.link.sealed import create_sealed
from tests.harness.bystander import SIZE, VA
from tests.harness.commands import fill
from tests.harness.process_client import RawClient

if TYPE_CHECKING:
    import random
    from collections.abc import Generator

    from tests.harness.bystander import Bystander
    from tests.harness.emulator_process import EmulatorProcess


def test_random_control_messages_are_each_answered(
    emulator: EmulatorProcess, bystander: Bystander, chance: random.Random
) -> None:
    start = emulator.audit()
    with contextlib.closing(RawClient(emulator.path, "hostile")) as hostile:
        for _ in range(3000):
            entry = bytearray(chance.randbytes(64))
            if chance.random() < 0.7:
                # A real opcode with arguments out of nowhere.
                entry[:2] = chance.choice(range(0x60)).to_bytes(2, "little")
            if chance.random() < 0.5:
                entry[chance.randrange(8, 64) :] = bytes(64)[: 64 - chance.randrange(8, 64)]
                entry = entry[:64].ljust(64, b"\0")
            hostile.send(bytes(entry))
            reply = hostile.receive()
            assert reply.request == int.from_bytes(entry[4:8], "little")
        assert bystander.works()
        emulator.audit()

    after = emulator.audit()
    assert after.free_bytes == start.free_bytes
    assert after.descriptors == start.descriptors


@pytest.mark.decision("FAULT-02")
def test_random_work_commands_fault_or_complete_and_the_queue_recovers(
    emulator: EmulatorProcess, bystander: Bystander, chance: random.Random
) -> None:
    with contextlib.closing(RawClient(emulator.path, "hostile")) as hostile:
        vmid = hostile.space()
        hostile.map(vmid, VA, SIZE, hostile.vram(SIZE))
        queue = hostile.queue(vmid)
        for _ in range(400):
            entries = b"".join(chance.randbytes(64) for _ in range(chance.randrange(1, 8)))
            queue.submit_bytes(entries)
            if not queue.wait():
                queue.recover()
            hostile.faults()
        assert queue.run(fill(VA, SIZE, 7))
        assert bystander.works()
        emulator.audit()


@pytest.mark.case("D01")
@pytest.mark.parametrize("ahead", [257, 1 << 16, 1 << 31, (1 << 32) - 1])
def test_a_tail_beyond_the_ring_stops_that_ring_alone(
    emulator: EmulatorProcess, bystander: Bystander, ahead: int
) -> None:
    with contextlib.closing(RawClient(emulator.path, "hostile")) as hostile:
        vmid = hostile.space()
        queue = hostile.queue(vmid, 256)
        other = hostile.queue(vmid, 256)
        at = queue.created.ring_offset
        hostile.end.segment.words.store32(at + TAIL, ahead)
        hostile.end.doorbells.ring(queue.created.doorbell, at, 0, ahead)
        queue.seqno = 1

        assert not queue.wait()

        [fault] = hostile.faults()
        assert fault.va == ahead
        assert other.run()
        queue.recover()
        assert queue.run()
        assert bystander.works()


def test_scribbling_over_the_whole_segment_costs_nobody_else_anything(
    emulator: EmulatorProcess, bystander: Bystander, chance: random.Random
) -> None:
    start = emulator.audit()
    for _ in range(20):
        hostile = RawClient(emulator.path, "hostile")
        vmid = hostile.space()
        hostile.map(vmid, VA, SIZE, hostile.vram(SIZE))
        queue = hostile.queue(vmid)
        queue.submit(fill(VA, SIZE, 1))
        view = hostile.end.segment.view
        block = hostile.end.superblock
        # A reset of the device is a request like another, and would cost the bystander its session.
        reset = block.registers_offset + RESET_REQUEST.offset
        for _ in range(40):
            start_at = chance.randrange(0, block.ring_pool_offset + 0x10000)
            junk = chance.randbytes(chance.choice((1, 4, 64, 4096)))
            if start_at < reset + 4 and reset < start_at + len(junk):
                continue
            view[start_at : start_at + len(junk)] = junk
            hostile.end.doorbells.poke()
        assert bystander.works()
        hostile.close()
    after = emulator.audit()
    assert after.clients == start.clients
    assert after.free_bytes == start.free_bytes
    assert after.mappings == start.mappings


def hostile_packets(chance: random.Random) -> Generator[bytes]:
    yield b""
    yield b"x"
    for size in (Hello.SIZE - 1, Hello.SIZE, Hello.SIZE + 1, 65536):
        yield chance.randbytes(size)


def test_a_bad_hello_is_refused_in_words_and_leaves_nothing(
    emulator: EmulatorProcess, bystander: Bystander, chance: random.Random
) -> None:
    start = emulator.audit()
    for packet in hostile_packets(chance):
        with connect_socket(emulator.path) as connection:
            if packet:
                send_packet(connection, packet)
                answer = receive_packet(connection, Welcome.SIZE)
                welcome = Welcome.unpack(answer.data)
                assert isinstance(welcome, Welcome)
                assert welcome.status
    with connect_socket(emulator.path) as silent, connect_socket(emulator.path) as hasty:
        hasty.shutdown(socket.SHUT_RDWR)
        assert bystander.works()
        assert silent.fileno() >= 0
    after = emulator.audit()
    assert after.clients == start.clients


def test_descriptors_with_a_hello_or_for_no_request_are_closed(
    emulator: EmulatorProcess, bystander: Bystander
) -> None:
    start = emulator.audit()
    pipe = os.pipe()
    try:
        with connect_socket(emulator.path) as connection:
            send_packet(connection, b"no hello", pipe)
            receive_packet(connection, Welcome.SIZE)
        hostile = RawClient(emulator.path, "hostile")
        for request in range(1000, 1200):
            note = DescriptorNote(request=request, count=2, object_id=0, size_bytes=0)
            with contextlib.suppress(LinkError):
                hostile.end.carrier.send(note, pipe)
        hostile.call(Nop(request=hostile.number()))
        assert bystander.works()
        hostile.close()
    finally:
        for number in pipe:
            os.close(number)
    assert emulator.audit().descriptors == start.descriptors


def register(client: RawClient, descriptor: int | None, size: int = SIZE) -> Status:
    request = client.number()
    if descriptor is not None:
        note = DescriptorNote(request=request, count=1, object_id=0, size_bytes=size)
        client.end.carrier.send(note, [descriptor])
    command = SegmentRegister(
        request=request,
        kind=ObjectKind.CLIENT_DESCRIPTOR,
        flags=ObjectFlags.NONE,
        address=0,
        size_bytes=size,
    )
    return client.call(command).status


def test_only_sealed_memory_files_of_sufficient_size_are_mapped(
    emulator: EmulatorProcess, bystander: Bystander
) -> None:
    start = emulator.audit()
    sealed = create_sealed("test", SIZE)
    small = create_sealed("test", 4096)
    unsealed = create_memory("test", SIZE)
    reading, writing = os.pipe()
    with contextlib.closing(RawClient(emulator.path, "hostile")) as client:
        assert register(client, sealed) is Status.OK
        for descriptor in (None, small, unsealed, reading):
            assert register(client, descriptor) is Status.BAD_DESCRIPTOR
        # The unsealed file may now shrink without harm to the device.
        os.ftruncate(unsealed, 0)
        assert bystander.works()
    for descriptor in (sealed, small, unsealed, reading, writing):
        os.close(descriptor)
    after = emulator.audit()
    assert after.descriptors == start.descriptors
    assert after.mappings == start.mappings


def test_a_client_that_never_reads_replies_is_not_waited_for(
    emulator: EmulatorProcess, bystander: Bystander
) -> None:
    hostile = RawClient(emulator.path, "hostile")
    entries = hostile.end.superblock.control_ring_entries
    for _ in range(entries):
        hostile.send(Nop(request=hostile.number()).pack())
    assert bystander.works()
    replies = [hostile.receive() for _ in range(entries)]
    assert all(isinstance(reply, Done) for reply in replies)
    hostile.close()


def test_more_memory_than_there_is_is_refused_whole(emulator: EmulatorProcess) -> None:
    with contextlib.closing(RawClient(emulator.path, "greedy")) as client:
        start = emulator.audit().free_bytes
        for size in (start + 4096, 1 << 47, (1 << 64) - 4096):
            command = ObjectCreate(
                request=client.number(),
                kind=ObjectKind.VRAM,
                flags=ObjectFlags.NONE,
                size_bytes=size,
                page_size=4096,
            )
            reply = client.call(command)
            assert isinstance(reply, Refused)
            assert reply.status in {Status.OUT_OF_DEVICE_MEMORY, Status.LIMIT, Status.BAD_RANGE}
        assert emulator.audit().free_bytes == start
