"""The device's ports by system calls."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from device.core.ports import HostMemoryError, PagesDeniedError
from device.shell.hostmemory import (
    LARGE_BYTES,
    MOST_AREAS,
    HostMemory,
    MemoryFile,
    ProcessPages,
    SystemTokens,
)
from device.shell.limits import physical_bytes
from firmware.link.linux import create_memory, protect, reserve, unmap
from firmware.link.sealed import create_sealed
from tests.harness.children import child, hear, run_function, say

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = mmap.PAGESIZE


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def address_of(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def test_a_new_file_is_zeroed_and_can_never_shrink() -> None:
    file = HostMemory().create(4 * PAGE)

    assert file.size == len(file.view) == 4 * PAGE
    assert not any(file.view)
    with pytest.raises(PermissionError):
        os.ftruncate(file.descriptor, PAGE)
    file.close()


def test_closing_gives_descriptor_and_mapping_back() -> None:
    before = descriptors()
    file = HostMemory().create(PAGE)
    file.close()
    file.close()

    assert descriptors() == before
    with pytest.raises(ValueError, match="released"):
        file.view[0] = 1


def test_no_descriptors_left_is_a_clear_error_and_costs_nothing() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = descriptors()
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(HostMemoryError, match="0x1000 bytes"):
            HostMemory().create(PAGE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert descriptors() == before


def test_a_sealed_file_is_adopted_whole() -> None:
    file = HostMemory().adopt(create_sealed("test", 2 * PAGE), read_only=False)

    assert isinstance(file, MemoryFile)
    assert file.size == 2 * PAGE
    file.view[0] = 7
    file.close()


def test_a_file_taken_read_only_cannot_be_written() -> None:
    file = HostMemory().adopt(create_sealed("test", PAGE), read_only=True)

    assert isinstance(file, MemoryFile)
    assert file.view.readonly
    file.close()


def test_a_large_file_is_given_back_later_and_its_room_counts_at_once() -> None:
    chores: list[Callable[[], None]] = []
    memory = HostMemory(chores.append)
    before = descriptors()
    small, large = memory.create(PAGE), memory.create(LARGE_BYTES)

    small.close()
    large.close()
    large.close()

    assert descriptors() == before + 1
    with pytest.raises(ValueError, match="released"):
        large.view[0] = 1
    [chore] = chores
    chore()
    assert descriptors() == before


def test_some_descriptors_are_kept_for_everything_else() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    memory = HostMemory()
    files = [memory.create(PAGE) for _ in range(4)]
    passed = create_sealed("test", PAGE)
    before = descriptors()
    resource.setrlimit(resource.RLIMIT_NOFILE, (8, hard))
    try:
        with pytest.raises(HostMemoryError, match="there are 4"):
            memory.create(PAGE)
        refused = memory.adopt(passed, read_only=True)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "there are 4" in str(refused)
    assert descriptors() == before - 1
    for file in files:
        file.close()


def test_what_must_not_be_mapped_is_refused_in_words_and_closed() -> None:
    before = descriptors()

    unsealed = HostMemory().adopt(create_memory("test", PAGE), read_only=False)
    null = HostMemory().adopt(os.open(os.devnull, os.O_RDWR), read_only=False)

    assert "F_SEAL_SHRINK" in str(unsealed)
    assert "no memory file" in str(null)
    assert descriptors() == before


def test_tokens_are_sixteen_bytes_and_never_repeat() -> None:
    tokens = {SystemTokens().token() for _ in range(1000)}

    assert len(tokens) == 1000
    assert {len(token) for token in tokens} == {16}


def remote() -> None:
    """Be a process whose pages are reached: readable, read-only, hole."""
    memory = mmap.mmap(-1, 3 * PAGE)
    memory[:PAGE] = b"r" * PAGE
    address = address_of(memory)
    protect(address + PAGE, PAGE, mmap.PROT_READ)
    protect(address + 2 * PAGE, PAGE, 0)
    say(address)
    hear()
    say(memory[:4])


def test_another_processs_pages_are_read_and_written_where_they_are() -> None:
    with child(__name__, "remote") as other:
        address = int(other.hear())
        pages = ProcessPages(other.pid)
        found = bytearray(PAGE)

        assert pages.read_into(address, memoryview(found)) == PAGE
        assert found == b"r" * PAGE
        assert pages.write_from(address, memoryview(b"dddd")) == 4
        other.say()
        assert other.hear() == str(b"dddd")


def test_a_transfer_stops_at_the_first_page_that_is_missing() -> None:
    with child(__name__, "remote") as other:
        address = int(other.hear())
        pages = ProcessPages(other.pid)

        assert pages.read_into(address, memoryview(bytearray(3 * PAGE))) == 2 * PAGE
        assert pages.write_from(address, memoryview(bytearray(2 * PAGE))) == PAGE


def test_a_probe_names_the_first_address_that_cannot_be_used() -> None:
    with child(__name__, "remote") as other:
        address = int(other.hear())
        pages = ProcessPages(other.pid)

        assert pages.probe(address, PAGE, write=True) is None
        assert pages.probe(address, 2 * PAGE, write=False) is None
        assert pages.probe(address, 2 * PAGE, write=True) == address + PAGE
        assert pages.probe(address, 3 * PAGE, write=False) == address + 2 * PAGE


def pieces() -> None:
    """Be a process with many mappings side by side."""
    memory = mmap.mmap(-1, 2 * MOST_AREAS * PAGE)
    address = address_of(memory)
    for number in range(MOST_AREAS):
        protect(address + 2 * number * PAGE, PAGE, mmap.PROT_READ)
    say(address)
    hear()


def test_a_probe_does_not_look_at_any_number_of_mappings() -> None:
    with child(__name__, "pieces") as other:
        address = int(other.hear())
        pages = ProcessPages(other.pid)

        assert pages.probe(address, MOST_AREAS * PAGE, write=False) is None
        with pytest.raises(PagesDeniedError, match=f"more than {MOST_AREAS} mappings"):
            pages.probe(address, 2 * MOST_AREAS * PAGE, write=False)


def test_more_pages_than_the_machine_has_are_denied() -> None:
    size = physical_bytes() + PAGE
    address = reserve(size)
    protect(address, size, mmap.PROT_READ)
    try:
        with pytest.raises(PagesDeniedError, match="machine"):
            ProcessPages(os.getpid()).probe(address, size, write=False)
    finally:
        unmap(address, size)


def test_a_process_that_ended_has_no_pages() -> None:
    with child(__name__, "remote") as other:
        address = int(other.hear())
        other.kill()
        pages = ProcessPages(other.pid)

        assert pages.read_into(address, memoryview(bytearray(8))) == 0
        assert pages.write_from(address, memoryview(bytearray(8))) == 0
        with pytest.raises(PagesDeniedError, match=str(other.pid)):
            pages.probe(address, PAGE, write=False)


def test_a_process_of_another_pid_namespace_is_refused_with_the_reason() -> None:
    with pytest.raises(PagesDeniedError, match="namespace"):
        ProcessPages(0).probe(0x1000, PAGE, write=False)


if __name__ == "__main__":
    run_function({"remote": remote, "pieces": pieces})
