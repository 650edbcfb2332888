"""Other processes' memory, descriptors and mappings, and this one's."""

from __future__ import annotations

import errno
import os
import signal
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from firmware.link.linux import (
    Area,
    areas_of,
    create_memory,
    futex_wait,
    futex_wake,
    has_ended,
    map_anonymous,
    map_at,
    map_file,
    maps_path,
    peer_credentials,
    peer_pidfd,
    permit_tracing,
    query_areas,
    read_areas,
    read_process,
    reserve,
    take_descriptor,
    unmap,
    write_process,
)
from firmware.link.linux import areas as areas_module
from firmware.link.linux import process as process_module
from firmware.link.runtime_dir import listen_socket
from tests.harness.children import child

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

PROGRAMS = "tests.harness.link_programs"
PAGE = 4096
WHOLE = 1 << 47


@pytest.fixture
def window() -> Generator[int]:
    """Return a page that holds bytes, between two that hold nothing."""
    start = reserve(3 * PAGE)
    descriptor = create_memory("window", PAGE)
    map_at(start + PAGE, PAGE, descriptor)
    os.pwrite(descriptor, bytes(range(256)) * 16, 0)
    yield start + PAGE
    os.close(descriptor)
    unmap(start, 3 * PAGE)


# Memory


def test_memory_of_another_process_is_read_and_written() -> None:
    with child(PROGRAMS, "memory_owner") as owner:
        page = int(owner.hear()) + PAGE
        found = bytearray(8)

        assert read_process(owner.pid, page, memoryview(found)) == 8
        assert write_process(owner.pid, page, memoryview(b"replaced")) == 8

        assert found == b"original"
        owner.say()
        assert owner.hear() == "replaced"


def test_a_transfer_stops_at_the_first_byte_that_is_not_there(window: int) -> None:
    into = bytearray(2 * PAGE)

    assert read_process(os.getpid(), window, memoryview(into)) == PAGE
    assert read_process(os.getpid(), window + 100, memoryview(into)) == PAGE - 100
    assert write_process(os.getpid(), window + PAGE - 3, memoryview(b"12345")) == 3


def test_a_transfer_that_begins_in_a_hole_moves_nothing(window: int) -> None:
    into = bytearray(b"unchanged")

    assert read_process(os.getpid(), window - PAGE, memoryview(into)) == 0
    assert write_process(os.getpid(), window + PAGE, memoryview(b"x")) == 0

    assert into == b"unchanged"


def test_read_only_pages_are_read_and_not_written() -> None:
    descriptor = create_memory("page", PAGE)
    mapping = map_file(descriptor, PAGE, writable=False)

    assert read_process(os.getpid(), mapping.address, memoryview(bytearray(4))) == 4
    assert write_process(os.getpid(), mapping.address, memoryview(b"data")) == 0

    mapping.close()
    os.close(descriptor)


def test_an_empty_transfer_moves_nothing() -> None:
    assert read_process(os.getpid(), 0, memoryview(bytearray(0))) == 0
    assert write_process(os.getpid(), 0, memoryview(b"")) == 0


def test_memory_of_a_process_that_has_ended_is_an_error() -> None:
    with child(PROGRAMS, "memory_owner") as owner:
        page = int(owner.hear()) + PAGE
        owner.kill()

        with pytest.raises(
            ProcessLookupError, match=f"process {owner.pid} at {page:#x}, 0x8 bytes"
        ):
            read_process(owner.pid, page, memoryview(bytearray(8)))


def test_tracing_is_permitted_or_need_not_be() -> None:
    assert permit_tracing() in {True, False}


# Mappings


def test_query_and_table_tell_the_same_of_another_process() -> None:
    with child(PROGRAMS, "memory_owner") as owner:
        start = int(owner.hear())
        descriptor = os.open(maps_path(owner.pid), os.O_RDONLY)

        queried = query_areas(descriptor, 0, WHOLE)
        read = read_areas(descriptor, 0, WHOLE)

        os.close(descriptor)
    assert queried == read
    assert Area(start + PAGE, start + 2 * PAGE, True, True, True) in queried


def test_query_and_table_tell_the_same_of_this_process(window: int) -> None:
    descriptor = os.open(maps_path(None), os.O_RDONLY)

    # One page of a file: its neighbours may change at any time, it does not.
    queried = query_areas(descriptor, window, PAGE)
    read = read_areas(descriptor, window, PAGE)

    os.close(descriptor)
    assert queried == read == [Area(window, window + PAGE, True, True, True)]


def test_areas_begin_with_the_one_that_covers_the_address_and_end_with_the_range(
    window: int,
) -> None:
    areas = areas_of(None, window + 10, 1)

    assert areas == [Area(window, window + PAGE, True, True, True)]


def test_a_hole_has_no_areas() -> None:
    start = reserve(PAGE)
    unmap(start, PAGE)
    descriptor = os.open(maps_path(None), os.O_RDONLY)

    assert query_areas(descriptor, start, PAGE) == read_areas(descriptor, start, PAGE) == []
    assert query_areas(descriptor, WHOLE - PAGE, PAGE) == []

    os.close(descriptor)


def test_kernels_without_the_query_are_served_by_the_table(
    window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(areas_module, "_QUERY", 0xDEAD)

    assert areas_of(None, window, PAGE) == [Area(window, window + PAGE, True, True, True)]


def test_a_query_that_is_not_permitted_is_an_error(
    window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, address: int, size: int, most: int) -> list[Area]:
        raise PermissionError(errno.EPERM, f"{descriptor} {address} {size} {most}")

    monkeypatch.setattr(areas_module, "query_areas", refuse)

    with pytest.raises(PermissionError):
        areas_of(None, window, PAGE)


def test_a_process_that_has_ended_has_no_table() -> None:
    with child(PROGRAMS, "memory_owner") as owner:
        owner.hear()
        owner.kill()

        with pytest.raises((FileNotFoundError, ProcessLookupError)):
            areas_of(owner.pid, 0, WHOLE)


def test_other_errors_of_the_query_are_passed_on(window: int) -> None:
    reader, writer = os.pipe()

    with pytest.raises(OSError, match="Inappropriate ioctl"):
        query_areas(reader, window, PAGE)

    os.close(reader)
    os.close(writer)


# Descriptors and lives


def test_a_descriptor_is_pulled_out_of_another_process() -> None:
    with child(PROGRAMS, "memory_owner") as owner:
        owner.hear()
        pidfd = os.pidfd_open(owner.pid)

        taken = take_descriptor(pidfd, 1)

        assert os.fstat(taken).st_ino == os.fstat(owner.process.stdout.fileno()).st_ino  # type: ignore[union-attr]
        with pytest.raises(OSError, match="descriptor 999") as caught:
            take_descriptor(pidfd, 999)
        assert caught.value.errno == errno.EBADF
        os.close(taken)
        os.close(pidfd)


def test_the_end_of_a_process_shows_on_its_pidfd() -> None:
    with child(PROGRAMS, "memory_owner") as owner:
        owner.hear()
        pidfd = os.pidfd_open(owner.pid)
        assert not has_ended(pidfd)

        owner.process.send_signal(signal.SIGKILL)
        owner.process.wait()

        assert has_ended(pidfd)
        os.close(pidfd)


def test_a_socket_tells_who_made_the_connection() -> None:
    ours, theirs = socket.socketpair()

    assert peer_credentials(ours) == (os.getpid(), os.geteuid(), os.getegid())
    pidfd = peer_pidfd(ours)

    assert pidfd is not None
    assert not has_ended(pidfd)
    os.close(pidfd)
    ours.close()
    theirs.close()


def test_kernels_without_peer_pidfd_are_served_by_the_pid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process_module, "_SO_PEERPIDFD", 0x7FFF)
    ours, theirs = socket.socketpair()

    pidfd = peer_pidfd(ours)

    assert pidfd is not None
    os.close(pidfd)
    ours.close()
    theirs.close()


@pytest.mark.parametrize("known", [True, False], ids=["peer pidfd", "pid"])
def test_a_peer_that_has_ended_already_is_not_taken_for_alive(
    known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not known:
        monkeypatch.setattr(process_module, "_SO_PEERPIDFD", 0x7FFF)
    with listen_socket(tmp_path / "emulator") as listener:
        with child(PROGRAMS, "silent_client", tmp_path / "emulator") as client:
            connection, _ = listener.accept()
            client.kill()

        pidfd = peer_pidfd(connection)

        assert pidfd is None or has_ended(pidfd)
        if pidfd is not None:
            os.close(pidfd)
        connection.close()


def test_a_socket_that_is_not_connected_has_no_peer() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as alone:
        assert peer_pidfd(alone) is None


# Futex


def test_a_word_that_has_moved_is_not_slept_on() -> None:
    mapping = map_anonymous(PAGE)

    assert futex_wait(mapping.address, 1, 60.0)


def test_a_sleep_ends_when_its_time_is_up() -> None:
    mapping = map_anonymous(PAGE)

    assert not futex_wait(mapping.address, 0, 0.001)


def test_a_sleeper_is_woken() -> None:
    mapping = map_anonymous(PAGE)
    woken: list[bool] = []
    sleeper = threading.Thread(target=lambda: woken.append(futex_wait(mapping.address, 0, 60.0)))
    sleeper.start()

    while not futex_wake(mapping.address):
        pass

    sleeper.join()
    assert woken == [True]


def test_a_bad_address_is_an_error() -> None:
    with pytest.raises(OSError, match="futex wait at 0x1"):
        futex_wait(1, 0, 0.0)
    with pytest.raises(OSError, match="futex wake at 0x1"):
        futex_wake(1)
