"""The three ways in which programs hand a handle on, between real processes.

Its 64 bytes by any way at all; its descriptor by a socket, the other bytes original, zero or left
over; its descriptor pulled out of the exporter and closed as soon as the call has returned.
"""

import ctypes
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hostdriver import levelzero as ze
from tests.harness.emulator_process import EmulatorProcess
from tests.harness.levelzero import PAGE, fails
from tests.harness.ze_program import Program, program

PIDFD_GETFD = 438
"""Number of the system call on every architecture."""
SIZE = 2 * PAGE + 100


@pytest.fixture(name="exporter", scope="module")
def make_exporter(emulator: EmulatorProcess) -> Iterator[Program]:
    with program(emulator.path) as exporter:
        yield exporter


@pytest.fixture(name="driver", scope="module")
def make_driver(emulator: EmulatorProcess) -> Iterator[ze.Driver]:
    with ze.connect(emulator.path, start=None) as driver:
        yield driver


def exported(exporter: Program, kind: str) -> tuple[int, bytes]:
    """Make memory with some bytes in it; return where, and its handle."""
    if kind == "mapping":
        va = exporter.do("reserve", 4 * PAGE)
        exporter.do("map", va, 3 * PAGE, exporter.do("make", 4 * PAGE), PAGE)
    else:
        va = exporter.do("allocate", SIZE, int(kind == "host"))
    exporter.do("write", va, b"the very bytes")
    return va, bytes.fromhex(exporter.do("get_plain", va))


def received(exporter: Program, handle: bytes) -> int:
    """Have the exporter send its descriptor; return the one that arrived."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = str(Path(folder) / "way")
        listener.bind(path)
        listener.listen()
        assert exporter.do("send_descriptor", path, handle) is None
        connection, _ = listener.accept()
        with closing(connection):
            _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    return descriptors[0]


def pulled(exporter: Program, handle: bytes) -> int:
    """Take the descriptor out of the exporter."""
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(exporter.process.pid)
    try:
        number = int(libc.syscall(PIDFD_GETFD, pidfd, int.from_bytes(handle[:4], "little"), 0))
    finally:
        os.close(pidfd)
    assert number >= 0, os.strerror(ctypes.get_errno())
    return number


def check_opens(context: ze.Context, driver: ze.Driver, handle: bytes) -> int:
    pointer = context.mem_open_ipc_handle(driver.devices[0], handle)
    assert context.memory_read(pointer, 14) == b"the very bytes"
    context.mem_close_ipc_handle(pointer)
    return pointer


@pytest.mark.parametrize("kind", ["device", "host", "mapping"])
@pytest.mark.parametrize("rest", ["original", "zero", "stale"])
@pytest.mark.parametrize("way", [received, pulled], ids=["received", "pulled"])
def test_descriptor_alone_identifies_the_memory(
    exporter: Program,
    driver: ze.Driver,
    context: ze.Context,
    kind: str,
    rest: str,
    way: Callable[[Program, bytes], int],
) -> None:
    _, handle = exported(exporter, kind)
    _, other = exported(exporter, kind)
    tails = {"original": handle[4:], "zero": bytes(60), "stale": other[4:]}
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only
    descriptor = way(exporter, handle)
    try:
        pointer = context.mem_open_ipc_handle(
            driver.devices[0], descriptor.to_bytes(4, "little") + tails[rest]
        )
    finally:
        os.close(descriptor)

    assert context.memory_read(pointer, 14) == b"the very bytes"
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - names only
    context.mem_close_ipc_handle(pointer)


@pytest.mark.case("I19")
@pytest.mark.parametrize("way", ["pipe", "file", "socket"])
def test_bytes_go_by_any_way(
    exporter: Program, driver: ze.Driver, context: ze.Context, tmp_path: Path, way: str
) -> None:
    _, handle = exported(exporter, "host")
    if way == "file":
        (tmp_path / "handle").write_bytes(handle)
        arrived = (tmp_path / "handle").read_bytes()
    elif way == "pipe":
        reading, writing = os.pipe()
        os.write(writing, handle)
        os.close(writing)
        arrived = os.read(reading, 100)
        os.close(reading)
    else:
        left, right = socket.socketpair()
        with closing(left), closing(right):
            left.sendall(handle)
            arrived = right.recv(100)

    check_opens(context, driver, arrived)


def test_descriptor_of_something_else_opens_nothing_and_stays_open(
    driver: ze.Driver, context: ze.Context, tmp_path: Path
) -> None:
    (tmp_path / "other").write_bytes(bytes(64))
    descriptor = os.open(tmp_path / "other", os.O_RDONLY)
    try:
        with fails("INVALID_ARGUMENT", str(descriptor)):
            context.mem_open_ipc_handle(
                driver.devices[0], descriptor.to_bytes(4, "little") + bytes(60)
            )
        assert os.fstat(descriptor).st_size == 64
    finally:
        os.close(descriptor)


def test_stale_descriptor_opens_nothing(
    exporter: Program, driver: ze.Driver, context: ze.Context
) -> None:
    va, handle = exported(exporter, "device")
    descriptor = pulled(exporter, handle)
    assert exporter.do("release", va) is None

    with fails("INVALID_ARGUMENT"):
        context.mem_open_ipc_handle(driver.devices[0], descriptor.to_bytes(4, "little") + bytes(60))
    os.close(descriptor)


def test_child_opens_what_its_parent_exported_and_the_other_way_round(
    emulator: EmulatorProcess, driver: ze.Driver, context: ze.Context
) -> None:
    pointer = context.mem_alloc_host(PAGE)
    context.host_view(pointer, 6)[:] = b"parent"
    handle = context.mem_get_ipc_handle(pointer)
    with program(emulator.path) as child:
        there = child.do("open", handle)
        assert bytes.fromhex(child.do("peek", there, 6)) == b"parent"
        child.do("poke", there, b"child!")
        assert bytes(context.host_view(pointer, 6)) == b"child!"
        _, back = exported(child, "device")
        check_opens(context, driver, back)
    context.mem_free(pointer)


def test_host_memory_is_seen_by_the_cpu_until_the_last_close_even_of_a_dead_exporter(
    emulator: EmulatorProcess, driver: ze.Driver, context: ze.Context
) -> None:
    with program(emulator.path) as exporter:
        va, handle = exported(exporter, "host")
        pointer = context.mem_open_ipc_handle(driver.devices[0], handle)
        view = context.host_view(pointer, SIZE)
        exporter.do("poke", va + SIZE - 3, b"end")
        assert bytes(view[-3:]) == b"end"
        exporter.process.kill()
    emulator.audit()

    assert bytes(view[:14]) == b"the very bytes"
    view[:4] = b"THE "
    assert context.memory_read(pointer, 14) == b"THE very bytes"
    context.mem_close_ipc_handle(pointer)
    with fails("ADDRESS_NOT_FOUND"):
        context.host_view(pointer, 1)


@pytest.mark.slow
@pytest.mark.case("I01")
@pytest.mark.parametrize("kind", ["device", "host"])
def test_thousands_of_opens_and_closes_do_not_grow_a_process(
    emulator: EmulatorProcess, exporter: Program, kind: str
) -> None:
    _, handle = exported(exporter, kind)
    with program(emulator.path) as importer:
        importer.do("close", importer.do("open", handle))
        pid = importer.process.pid
        before = grown(pid), emulator.audit()
        mappings = len(maps_of(pid))

        for _ in range(3000):
            importer.do("close", importer.do("open", handle))

        assert (grown(pid), emulator.audit()) == before
        # The interpreter maps memory for itself now and then; what we left would be there often.
        assert len(maps_of(pid)) - mappings < 10


def grown(pid: int) -> tuple[int, int, int]:
    """Return descriptors, mappings of memory files and pages of address space of a process."""
    folder = Path("/proc") / str(pid)
    pages = int((folder / "statm").read_text().split()[0])
    return (
        len(os.listdir(folder / "fd")),  # noqa: PTH208 - names only
        sum("memfd:" in line for line in maps_of(pid)),
        pages // 4096,
    )


def maps_of(pid: int) -> list[str]:
    """Return the table of a process's mappings."""
    return (Path("/proc") / str(pid) / "maps").read_text().splitlines()
