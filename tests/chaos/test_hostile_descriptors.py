"""Invariant: whatever descriptors a client sends, the device maps only what cannot hurt it.

None is left open, and no client can take all of them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import select
import socket
from typing import TYPE_CHECKING, Final

import pytest

from firmware.abi.control import ObjectCreate, SegmentRegister, SegmentUnregister
from firmware.abi.control_kinds import ObjectFlags, ObjectKind
from firmware.abi.handshake import MAX_DESCRIPTORS, DescriptorNote
from firmware.abi.replies import ObjectCreated, Refused, Reply
from firmware.abi.status import Status
from firmware.link import errors
from firmware.link.descriptors import send_packet
from firmware.link.sealed import NotSealed, check_sealed, create_sealed
from tests.harness.emulator_process import emulator_process
from tests.harness.process_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from tests.harness.bystander import Bystander
    from tests.harness.emulator_process import EmulatorProcess

PAGE: Final = 4096
TIB: Final = 1 << 40
FEW: Final = 128
"""Descriptors of a device process that has nearly none."""


@pytest.fixture
def client(emulator: EmulatorProcess) -> Generator[RawClient]:
    with contextlib.closing(RawClient(emulator.path, "hostile")) as attached:
        yield attached


def memory(size: int, seals: int = fcntl.F_SEAL_SHRINK, flags: int = 0) -> int:
    descriptor = os.memfd_create("hostile", os.MFD_ALLOW_SEALING | flags)
    os.ftruncate(descriptor, size)
    if seals:
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def opened_again(flags: int) -> int:
    descriptor = memory(PAGE)
    try:
        return os.open(f"/proc/self/fd/{descriptor}", flags)
    finally:
        os.close(descriptor)


def one_end() -> int:
    one, other = socket.socketpair()
    other.close()
    return one.detach()


def epoll() -> int:
    made = select.epoll()
    try:
        return os.dup(made.fileno())
    finally:
        made.close()


def register(
    client: RawClient, descriptors: Sequence[int], size: int = PAGE, offset: int = 0, told: int = -1
) -> Reply:
    """Send descriptors for a request, and the request."""
    request = client.number()
    count = len(descriptors) if told < 0 else told
    note = DescriptorNote(request=request, count=count, object_id=0, size_bytes=size)
    client.end.carrier.send(note, descriptors)
    command = SegmentRegister(
        request=request,
        kind=ObjectKind.CLIENT_DESCRIPTOR,
        flags=ObjectFlags.NONE,
        address=offset,
        size_bytes=size,
    )
    return client.call(command)


KINDS: dict[str, Callable[[], int]] = {
    "folder": lambda: os.open("/", os.O_RDONLY),
    "path": lambda: opened_again(os.O_PATH),
    "read only": lambda: opened_again(os.O_RDONLY),
    "write only": lambda: opened_again(os.O_WRONLY),
    "socket": one_end,
    "epoll": epoll,
    "eventfd": lambda: os.eventfd(0),
    "process": lambda: os.pidfd_open(os.getpid()),
    "zero": lambda: os.open("/dev/zero", os.O_RDWR),
    "empty": lambda: memory(0),
    "no seals": lambda: memory(PAGE, 0),
    "sealed against writing": lambda: memory(PAGE, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE),
    "more than all memory": lambda: memory(64 * TIB),
    "more than all addresses": lambda: memory((1 << 63) - PAGE),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_mapped_safely_is_refused_and_closed(
    emulator: EmulatorProcess, client: RawClient, kind: str
) -> None:
    start = emulator.audit()
    descriptor = KINDS[kind]()
    try:
        assert register(client, [descriptor]).status is Status.BAD_DESCRIPTOR
    finally:
        os.close(descriptor)
    assert emulator.audit() == start


@pytest.mark.parametrize(("size", "offset"), [((1 << 64) - PAGE, PAGE), (PAGE, (1 << 64) - PAGE)])
def test_a_place_that_wraps_around_is_refused(client: RawClient, size: int, offset: int) -> None:
    descriptor = memory(PAGE)
    try:
        reply = register(client, [descriptor], size, offset)
    finally:
        os.close(descriptor)
    assert reply.status is Status.BAD_DESCRIPTOR


def test_a_file_of_huge_pages_could_lose_them_and_is_refused() -> None:
    try:
        descriptor = memory(2 << 20, flags=os.MFD_HUGETLB)
    except OSError:
        # A system without huge pages has no such files.
        return
    try:
        with pytest.raises(NotSealed, match="pages of"):
            check_sealed(descriptor)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(("count", "told"), [(0, 0), (2, 2), (16, 16), (1, 3), (2, 1)])
def test_any_number_but_one_is_refused_and_the_next_request_is_served(
    emulator: EmulatorProcess, client: RawClient, count: int, told: int
) -> None:
    start = emulator.audit()
    descriptor = create_sealed("test", PAGE)
    try:
        assert register(client, [descriptor] * count, told=told).status is Status.BAD_DESCRIPTOR
        reply = register(client, [descriptor])
        assert isinstance(reply, ObjectCreated)
        command = SegmentUnregister(request=client.number(), object_id=reply.object_id)
        assert not client.call(command).status
    finally:
        os.close(descriptor)
    assert emulator.audit() == start


def test_descriptors_of_requests_that_are_never_made_cost_one_each_at_most(
    emulator: EmulatorProcess, client: RawClient, bystander: Bystander
) -> None:
    start = emulator.audit()
    descriptor = create_sealed("test", PAGE)
    try:
        for number in range(100, 200):
            note = DescriptorNote(request=number, count=16, object_id=0, size_bytes=PAGE)
            with contextlib.suppress(BlockingIOError):
                client.end.carrier.send(note, [descriptor] * MAX_DESCRIPTORS)
            register(client, [descriptor])
    finally:
        os.close(descriptor)
    held = emulator.audit()
    assert held.descriptors - start.descriptors <= 100 + held.objects - start.objects
    assert bystander.works()


def test_a_packet_of_garbage_on_the_link_loses_only_itself(client: RawClient) -> None:
    descriptor = create_sealed("test", PAGE)
    try:
        connection = socket.socket(fileno=os.dup(client.end.peer.filenos()[-1]))
        with connection:
            send_packet(connection, b"garbage", [descriptor] * 3)
            send_packet(connection, bytes(4096))
        statuses = [register(client, [descriptor]).status for _ in range(4)]
    finally:
        os.close(descriptor)
    assert statuses[-1] is Status.OK


@pytest.mark.parametrize("size", [64 * TIB, 1 << 48, (1 << 63) - PAGE, 1 << 63, (1 << 64) - PAGE])
def test_system_memory_that_no_machine_has_is_refused(
    client: RawClient, bystander: Bystander, size: int
) -> None:
    command = ObjectCreate(
        request=client.number(),
        kind=ObjectKind.SYSTEM,
        flags=ObjectFlags.NONE,
        size_bytes=size,
        page_size=PAGE,
    )
    assert client.call(command).status is Status.OUT_OF_HOST_MEMORY
    assert bystander.works()


def test_a_client_that_takes_every_descriptor_leaves_enough_for_others_to_attach(
    tmp_path: Path,
) -> None:
    with emulator_process(tmp_path) as emulator:
        start = emulator.audit()
        resource.prlimit(emulator.pid, resource.RLIMIT_NOFILE, (FEW, FEW))
        with contextlib.closing(RawClient(emulator.path, "greedy")) as greedy:
            reply: Reply | None = None
            for _ in range(FEW):
                request = greedy.number()
                command = ObjectCreate(
                    request=request,
                    kind=ObjectKind.SYSTEM,
                    flags=ObjectFlags.NONE,
                    size_bytes=PAGE,
                    page_size=PAGE,
                )
                reply = greedy.call(command)
                received = greedy.end.carrier.take(request)
                if received is None:
                    break
                received.descriptors.close()
            assert isinstance(reply, Refused)
            assert reply.status is Status.OUT_OF_HOST_MEMORY
            with contextlib.closing(RawClient(emulator.path, "late")) as late:
                assert late.queue(late.space()).run()
        assert emulator.audit() == start


def test_an_emulator_without_descriptors_says_so_to_whoever_comes(
    emulator: EmulatorProcess, bystander: Bystander
) -> None:
    limit = resource.RLIMIT_NOFILE
    before = resource.prlimit(emulator.pid, limit)
    # One more than are open: room for the connection, and for nothing that belongs to it.
    highest = max(int(name) for name in os.listdir(f"/proc/{emulator.pid}/fd"))  # noqa: PTH208
    resource.prlimit(emulator.pid, limit, (highest + 2, before[1]))
    try:
        with pytest.raises(errors.Refused, match="no descriptor, memory or mapping left"):
            RawClient(emulator.path, "late")
        assert bystander.works()
    finally:
        resource.prlimit(emulator.pid, limit, before)

    with contextlib.closing(RawClient(emulator.path, "later")) as later:
        assert later.queue(later.space()).run()
