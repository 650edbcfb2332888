"""Threads that run chunks."""

from __future__ import annotations

import select
import threading
from typing import TYPE_CHECKING

import pytest

from device.core.errors import InternalError
from device.core.memory import Chunk
from device.shell.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.fixture
def workers() -> Generator[Workers]:
    made = Workers(2)
    yield made
    made.close()


def wait_for_bell(workers: Workers) -> None:
    poll = select.poll()
    poll.register(workers.bell.fileno(), select.POLLIN)
    assert poll.poll(10_000)


def test_a_chunk_runs_in_another_thread_and_is_collected_once(workers: Workers) -> None:
    threads: list[int] = []
    chunk = Chunk(lambda: threads.append(threading.get_ident()), 64)

    workers.start(3, chunk)
    assert workers.in_flight == 1
    wait_for_bell(workers)
    [finished] = workers.collect()

    assert finished.device_index == 3
    assert finished.chunk is chunk
    assert threads != [threading.get_ident()]
    assert workers.in_flight == 0
    assert workers.collect() == []


def test_two_chunks_run_side_by_side(workers: Workers) -> None:
    # Each waits for the other: one thread alone would never pass.
    together = threading.Barrier(2, timeout=10)

    def meet() -> None:
        together.wait()

    for _ in range(2):
        workers.start(0, Chunk(meet, 64))

    done = 0
    while done < 2:
        wait_for_bell(workers)
        done += len(workers.collect())


def test_a_bug_in_a_chunk_is_no_silent_success(workers: Workers) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    workers.start(0, Chunk(broken, 64))
    wait_for_bell(workers)

    with pytest.raises(InternalError, match="0x40 bytes") as caught:
        workers.collect()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert workers.in_flight == 0


def test_a_chore_is_done_once_beside_the_chunks(workers: Workers) -> None:
    done: list[int] = []

    workers.defer(lambda: done.append(threading.get_ident()))
    assert workers.in_flight == 1
    wait_for_bell(workers)
    [finished] = workers.collect()

    assert finished.chunk is None
    assert len(done) == 1
    assert done != [threading.get_ident()]
    assert workers.in_flight == 0


def test_a_bug_in_a_chore_is_no_silent_success(workers: Workers) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    workers.defer(broken)
    wait_for_bell(workers)

    with pytest.raises(InternalError):
        workers.collect()
