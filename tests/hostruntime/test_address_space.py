"""This process's address space: reserved, mapped, protected, and nobody else's touched."""

import contextlib
import errno
import mmap
import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from firmware.link.linux import areas_of, reserve, unmap
from firmware.link.sealed import create_sealed
from hostdriver.core.results import ZeError
from hostdriver.runtime.address_space import AddressSpace
from hostdriver.runtime.system import System, current

MIB = 1 << 20


@pytest.fixture(name="space")
def make_space() -> Iterator[AddressSpace]:
    space = AddressSpace(largest=64 * MIB, smallest=64 * MIB)
    yield space
    space.close()


@pytest.fixture(name="file")
def make_file() -> Iterator[int]:
    descriptor = create_sealed("test", 2 * MIB)
    yield descriptor
    os.close(descriptor)


def is_mapped(va: int, size: int) -> bool:
    return sum(min(a.end, va + size) - max(a.start, va) for a in areas_of(None, va, size)) == size


def dies(action: object) -> bool:
    """Return whether a child is killed by a wild access when it does something."""
    pid = os.fork()
    if not pid:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        action()  # type: ignore[operator]
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def arena_of(space: AddressSpace) -> tuple[int, int]:
    assert space.arena is not None
    return space.arena


def test_arena_is_halved_until_the_system_agrees() -> None:
    space = AddressSpace(largest=1 << 50, smallest=1 << 36)
    _, size = arena_of(space)

    assert 1 << 36 <= size < 1 << 47
    space.close()


def test_arena_that_would_be_too_small_is_none() -> None:
    space = AddressSpace(largest=1 << 60, smallest=1 << 60)

    assert space.arena is None
    space.close()


def test_usual_arena_has_terabytes() -> None:
    space = AddressSpace()

    assert arena_of(space)[1] >= 64 << 30
    space.close()


def test_file_is_seen_where_it_is_mapped(space: AddressSpace, file: int) -> None:
    va, _ = arena_of(space)
    os.pwrite(file, b"hello", MIB)

    assert space.map_descriptor(file, MIB, va, MIB) is None

    into = bytearray(5)
    space.load(va, memoryview(into))
    assert into == b"hello"
    space.store(va + 5, memoryview(b", you"))
    assert os.pread(file, 10, MIB) == b"hello, you"
    assert bytes(space.view(va, 10)) == b"hello, you"


def test_memory_that_is_not_mapped_ends_a_wild_program(space: AddressSpace, file: int) -> None:
    va, _ = arena_of(space)
    assert dies(lambda: space.view(va, 1).tobytes())

    space.map_descriptor(file, 0, va, MIB)
    assert not dies(lambda: space.view(va, 1).tobytes())

    space.protect_none(va, MIB)
    assert dies(lambda: space.view(va, 1).tobytes())
    assert is_mapped(va, MIB)


def test_mapping_that_fails_says_why(space: AddressSpace) -> None:
    va, _ = arena_of(space)

    problem = space.map_descriptor(-1, 0, va, MIB)

    assert problem is not None
    assert "Bad file descriptor" in problem


def test_reservation_outside_is_aligned_and_given_back(space: AddressSpace) -> None:
    va = space.reserve(3 * MIB, 0, 2 * MIB)
    assert va is not None

    assert va % (2 * MIB) == 0
    assert is_mapped(va, 3 * MIB)
    space.release(va, 3 * MIB)
    assert areas_of(None, va, 3 * MIB) == []


def test_wished_place_is_given_only_when_free(space: AddressSpace) -> None:
    taken = reserve(MIB)
    assert space.reserve(MIB, taken, 4096) is None
    unmap(taken, MIB)

    assert space.reserve(MIB, taken, 4096) == taken
    assert space.reserve(MIB, taken, 4096) is None


@pytest.mark.parametrize("shift", [47, 50, 56])
def test_reservation_that_no_process_has_is_none(space: AddressSpace, shift: int) -> None:
    assert space.reserve(1 << shift, 0, 4096) is None


def test_large_reservations_fit_beside_the_arena(space: AddressSpace) -> None:
    va = space.reserve(64 << 40, 0x7FFF_0000, 1 << 16)

    if va is None:
        va = space.reserve(64 << 40, 0, 1 << 16)
    assert va is not None
    space.release(va, 64 << 40)


def test_only_what_was_reserved_is_given_back(space: AddressSpace) -> None:
    va = space.reserve(MIB, 0, 4096)
    assert va is not None

    for start, size in ((va, 2 * MIB), (va + 4096, MIB), (arena_of(space)[0], MIB)):
        with pytest.raises(ValueError, match="not reserved"):
            space.release(start, size)


def test_close_gives_everything_back_once() -> None:
    space = AddressSpace(largest=64 * MIB, smallest=64 * MIB)
    arena, _ = arena_of(space)
    va = space.reserve(MIB, 0, 4096)
    assert va is not None

    space.close()
    space.close()

    assert areas_of(None, va, MIB) == areas_of(None, arena, MIB) == []


def test_mapping_that_cannot_go_is_told(space: AddressSpace) -> None:
    with pytest.raises(ZeError, match="cannot be removed"):
        space.protect_none(1, MIB)


def at_the_limit_of_mappings(action: Callable[[], object]) -> int:
    """Do something in a child that has as many mappings as it may; return its exit status."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    # Not a line of this process may be run again after it.
    status = 1
    with contextlib.suppress(OSError):
        taken = [mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ)]
        while True:
            taken.append(mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ))
    with contextlib.suppress(BaseException):
        action()
        status = 0
    os._exit(status)


@pytest.mark.parametrize(("first", "size"), [(0, MIB), (0, 4096), (4096, 4096)])
def test_mapping_can_go_when_the_process_has_no_more(
    space: AddressSpace, file: int, first: int, size: int
) -> None:
    va, _ = arena_of(space)
    assert space.map_descriptor(file, 0, va, MIB) is None

    def remove() -> None:
        space.protect_none(va + first, size)
        # And again, from what is in reserve then.
        space.protect_none(va, MIB)
        assert is_mapped(va, MIB)
        assert not any(area.readable for area in areas_of(None, va, MIB))

    assert at_the_limit_of_mappings(remove) == 0


def test_limit_of_mappings_is_named(space: AddressSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(System):
        def map_at(self, address: int, size: int, descriptor: int, offset: int) -> None:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(current, "system", Full())
    limit = Path("/proc/sys/vm/max_map_count").read_text().strip()

    problem = space.map_descriptor(3, 0, arena_of(space)[0], MIB)

    assert problem is not None
    assert f"may have {limit} mappings" in problem
