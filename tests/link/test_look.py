"""Looking at memory that others store to, compiled."""

from __future__ import annotations

import threading
import time

import pytest

from firmware.link.compiled import compiled

MODULE = compiled()
pytestmark = pytest.mark.skipif(MODULE is None, reason="nothing can be compiled here")
MILLISECOND = 1_000_000
MINUTE = 60_000 * MILLISECOND


def look(pages: list[tuple[memoryview, bytes]], nanoseconds: int) -> bool:
    assert MODULE is not None
    return MODULE.look(pages, nanoseconds)


def pages_of(count: int, size: int = 8) -> list[tuple[memoryview, bytes]]:
    return [(memoryview(bytearray(size)), bytes(size)) for _ in range(count)]


@pytest.mark.parametrize("nanoseconds", [0, 1000, 2 * MILLISECOND])
def test_memory_that_stays_the_same_is_looked_at_for_so_long(nanoseconds: int) -> None:
    begun = time.monotonic_ns()

    assert not look(pages_of(2), nanoseconds)

    assert time.monotonic_ns() - begun >= nanoseconds


@pytest.mark.parametrize("count", [1, 16, 17, 100])
def test_each_memory_is_looked_at(count: int) -> None:
    for changed in (0, count // 2, count - 1):
        pages = pages_of(count)
        pages[changed][0][7] = 1

        assert look(pages, MINUTE)


@pytest.mark.parametrize("size", [0, 4, 12])
def test_memory_of_another_size_has_changed(size: int) -> None:
    assert look([(memoryview(bytearray(8)), bytes(size))], MINUTE)


def test_without_memory_nothing_changes() -> None:
    assert not look([], 1000)


def test_a_store_of_another_thread_is_seen() -> None:
    pages = pages_of(3)
    begun = threading.Event()

    def store() -> None:
        begun.wait()
        pages[1][0][0] = 1

    thread = threading.Thread(target=store)
    thread.start()
    begun.set()

    assert look(pages, MINUTE)
    thread.join()


def test_memory_that_was_given_up_is_not_looked_at() -> None:
    pages = pages_of(2)
    pages[1][0].release()

    with pytest.raises(ValueError, match="released memoryview"):
        look(pages, MINUTE)
    # The other one is free again.
    pages[0][0].release()


def test_what_is_no_memory_is_refused() -> None:
    with pytest.raises(TypeError):
        look([(memoryview(bytes(4)), 7)], MINUTE)  # type: ignore[list-item]
