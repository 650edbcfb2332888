"""Memory files, mappings and reservations."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from firmware.link import sealed as sealed_module
from firmware.link import segment as segment_module
from firmware.link.linux import (
    SEALS,
    address_of,
    areas_of,
    create_memory,
    map_anonymous,
    map_at,
    map_file,
    protect,
    reserve,
    reserve_again,
    seal,
    seals_of,
    unmap,
    view_at,
)
from firmware.link.linux import memory as memory_module
from firmware.link.sealed import NotSealed, check_sealed, create_sealed
from firmware.link.segment import Segment
from tests.harness.link_conformance import descriptor_count
from tests.link.test_descriptors import descriptor_limit

if TYPE_CHECKING:
    from collections.abc import Generator

PAGE = 4096


@pytest.fixture
def file() -> Generator[int]:
    descriptor = create_memory("test", 4 * PAGE)
    yield descriptor
    os.close(descriptor)


# Files and seals


def test_a_memory_file_is_zeroed_and_has_its_size(file: int) -> None:
    assert os.fstat(file).st_size == 4 * PAGE
    assert os.pread(file, 4 * PAGE, 0) == bytes(4 * PAGE)
    assert not os.get_inheritable(file)


def test_a_sealed_file_never_changes_its_size() -> None:
    descriptor = create_sealed("sealed", PAGE)

    for size in (0, 2 * PAGE):
        with pytest.raises(PermissionError):
            os.ftruncate(descriptor, size)
    with pytest.raises(PermissionError):
        seal(descriptor, fcntl.F_SEAL_WRITE)

    found = seals_of(descriptor)
    assert found is not None
    assert found & SEALS == SEALS
    os.close(descriptor)


def test_something_else_has_no_seals() -> None:
    reader, writer = os.pipe()

    assert seals_of(reader) is None

    os.close(reader)
    os.close(writer)


def test_seals_of_no_descriptor_are_an_error() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        seals_of(1 << 20)


def test_a_file_that_cannot_be_made_leaves_no_descriptor() -> None:
    before = descriptor_count()

    with pytest.raises(OverflowError):
        create_memory("too large", 1 << 64)
    with pytest.raises(OSError, match=r"Invalid|large"):
        create_memory("negative", -1)

    assert descriptor_count() == before


def test_kernels_without_the_newest_flag_are_asked_again() -> None:
    # The kernel answers a name that is too long as it answers a flag that it does not know.
    with pytest.raises(OSError, match="Invalid argument"):
        create_memory("x" * 300, PAGE)


def test_without_descriptors_there_is_no_memory_file() -> None:
    with descriptor_limit(spare=0), pytest.raises(OSError, match="Too many open files"):
        create_memory("one too many", PAGE)


def test_a_file_that_cannot_be_sealed_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise PermissionError(f"seals of {descriptor}")

    monkeypatch.setattr(sealed_module, "seal", refuse)
    before = descriptor_count()

    with pytest.raises(PermissionError):
        create_sealed("never sealed", PAGE)

    assert descriptor_count() == before


def test_a_segment_that_cannot_be_mapped_leaves_no_descriptor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(descriptor: int, size: int) -> None:
        raise OSError(errno.ENOMEM, f"{size} bytes of {descriptor}")

    monkeypatch.setattr(segment_module, "map_file", refuse)
    before = descriptor_count()

    with pytest.raises(OSError, match="4096 bytes"):
        Segment.create(PAGE)

    assert descriptor_count() == before


def test_only_sealed_memory_files_of_the_right_size_may_be_mapped(file: int) -> None:
    with pytest.raises(NotSealed, match="F_SEAL_SHRINK"):
        check_sealed(file)
    seal(file, fcntl.F_SEAL_SHRINK)

    assert check_sealed(file, 4 * PAGE) == 4 * PAGE
    with pytest.raises(NotSealed, match="0x4000 bytes, expected at least 0x4001"):
        check_sealed(file, 4 * PAGE + 1)


def test_a_pipe_is_no_memory_file() -> None:
    reader, writer = os.pipe()

    with pytest.raises(NotSealed, match="no memory file"):
        check_sealed(reader)

    os.close(reader)
    os.close(writer)


# Mappings


def test_mappings_of_one_file_show_the_same_bytes(file: int) -> None:
    one, other = map_file(file, 4 * PAGE), map_file(file, PAGE, offset=2 * PAGE)

    one.view[2 * PAGE : 2 * PAGE + 5] = b"hello"

    assert bytes(other.view[:5]) == b"hello"
    assert os.pread(file, 5, 2 * PAGE) == b"hello"


def test_a_mapping_keeps_no_descriptor(file: int) -> None:
    before = descriptor_count()

    mappings = [map_file(file, PAGE) for _ in range(10)]

    assert descriptor_count() == before
    for mapping in mappings:
        mapping.close()


def test_a_closed_mapping_is_gone_and_its_view_refuses(file: int) -> None:
    mapping = map_file(file, PAGE)
    address, view = mapping.address, mapping.view
    assert areas_of(None, address, PAGE)[0].shared

    mapping.close()
    mapping.close()

    with pytest.raises(ValueError, match="released"):
        _ = view[0]


def test_memory_stays_mapped_as_long_as_an_array_over_it_lives(file: int) -> None:
    mapping = map_file(file, PAGE)
    array = np.frombuffer(mapping.view, np.uint8)

    mapping.close()
    del mapping
    array[0] = 7

    assert os.pread(file, 1, 0) == b"\7"


def test_the_same_memory_can_be_closed_twice_for_itself() -> None:
    one = map_anonymous(PAGE)
    other = one.again()

    one.close()
    other.view[0] = 1

    assert other.view[0] == 1
    assert other.address


def test_a_read_only_mapping_cannot_be_stored_to(file: int) -> None:
    mapping = map_file(file, PAGE, writable=False)

    assert mapping.view.readonly
    assert not areas_of(None, mapping.address, PAGE)[0].writable
    assert bytes(mapping.view[:4]) == bytes(4)


def test_a_file_that_forbids_stores_can_only_be_mapped_to_read() -> None:
    descriptor = create_memory("read only", PAGE)
    seal(descriptor, fcntl.F_SEAL_WRITE)

    with pytest.raises(PermissionError):
        map_file(descriptor, PAGE)

    assert map_file(descriptor, PAGE, writable=False).view.readonly
    os.close(descriptor)


def test_the_address_of_read_only_memory_cannot_be_had() -> None:
    with pytest.raises(TypeError):
        address_of(memoryview(b"constant"))


# Reservations


def test_a_reservation_can_be_filled_and_emptied_page_by_page(file: int) -> None:
    os.pwrite(file, b"third", 2 * PAGE)
    start = reserve(4 * PAGE)

    map_at(start + PAGE, PAGE, file, offset=2 * PAGE)
    rights = [(area.readable, area.writable) for area in areas_of(None, start, 4 * PAGE)]
    view = view_at(start + PAGE, PAGE)
    found = bytes(view[:5])
    view[:5] = b"THIRD"
    reserve_again(start + PAGE, PAGE)
    emptied = areas_of(None, start + PAGE, PAGE)

    assert found == b"third"
    assert rights == [(False, False), (True, True), (False, False)]
    assert os.pread(file, 5, 2 * PAGE) == b"THIRD"
    assert not emptied[0].readable
    unmap(start, 4 * PAGE)


def test_a_reservation_takes_the_address_that_it_is_given_or_none() -> None:
    start = reserve(2 * PAGE)
    unmap(start, 2 * PAGE)

    assert reserve(PAGE, address=start) == start
    with pytest.raises(FileExistsError):
        reserve(2 * PAGE, address=start)

    unmap(start, PAGE)


def test_a_kernel_that_takes_an_address_for_a_hint_is_not_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = reserve(PAGE)
    monkeypatch.setattr(memory_module, "_MAP_FIXED_NOREPLACE", 0)

    with pytest.raises(FileExistsError):
        reserve(PAGE, address=start)

    unmap(start, PAGE)


def test_a_huge_reservation_costs_no_memory() -> None:
    start = reserve(1 << 40)

    unmap(start, 1 << 40)


def test_rights_can_be_taken_from_pages_and_given_back(file: int) -> None:
    start = reserve(PAGE)
    map_at(start, PAGE, file, protection=mmap.PROT_READ)
    assert not areas_of(None, start, PAGE)[0].writable

    protect(start, PAGE, mmap.PROT_READ | mmap.PROT_WRITE)

    assert areas_of(None, start, PAGE)[0].writable
    unmap(start, PAGE)


def test_failures_name_what_was_tried() -> None:
    start = reserve(PAGE)
    unmap(start, PAGE)

    with pytest.raises(OSError, match=f"mprotect of 0x1000 bytes at {start:#x}") as caught:
        protect(start, PAGE, mmap.PROT_READ)
    assert caught.value.errno == errno.ENOMEM
    with pytest.raises(OSError, match="munmap of 0x1000 bytes at 0x1"):
        unmap(1, PAGE)
    with pytest.raises(OSError, match="mmap of"):
        reserve(1 << 50)


def test_a_view_at_an_address_can_be_read_only() -> None:
    mapping = map_anonymous(PAGE)

    view = view_at(mapping.address, PAGE, writable=False)

    assert view.readonly
    assert view.nbytes == PAGE


def test_device_memory_that_is_reserved_cannot_be_touched() -> None:
    code = (
        "from firmware.link.linux import reserve, view_at\n"
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        "view_at(reserve(4096), 4096)[0]\n"
    )

    ended = subprocess.run([sys.executable, "-c", code], check=False)

    assert ended.returncode == -signal.SIGSEGV
