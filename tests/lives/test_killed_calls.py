"""A process killed after every question of a call: the device has all back, others work on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.model.worker import Died, Nursery, Worker, nursery

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import TypeAlias

    from tests.harness.emulator_process import EmulatorProcess

    Call: TypeAlias = tuple[str, *tuple[int | str, ...]]

PAGE = 64 << 10
MOST_QUESTIONS = 30


@pytest.fixture(name="workers", scope="module")
def make_workers(emulator: EmulatorProcess) -> Generator[Nursery]:
    with nursery(emulator.path) as bred:
        yield bred


class Peer:
    """The process that lives on: it exports memory, and sees its own bytes whatever happens."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.va = worker.do("reserve", PAGE)
        worker.do("map", self.va, PAGE, worker.do("make", PAGE), 0)
        worker.do("write_noise", self.va, PAGE, 1)
        self.bytes = worker.do("digest", self.va, PAGE)
        self.handle: str = worker.do("get", self.va, PAGE)

    def is_well(self) -> bool:
        is_same = self.worker.do("digest", self.va, PAGE) == self.bytes
        opened = self.worker.do("open", self.handle)
        is_shared = self.worker.do("digest", opened, PAGE) == self.bytes
        return is_same and is_shared and self.worker.do("close", opened) is None


def mapped(worker: Worker) -> int:
    va: int = worker.do("reserve", 2 * PAGE)
    worker.do("map", va, PAGE, worker.do("make", PAGE), 0)
    return va


CALLS: dict[str, Callable[[Worker, Peer], Call]] = {
    "device": lambda worker, peer: ("obtain", "device", PAGE),
    "host": lambda worker, peer: ("obtain", "host", PAGE),
    "shared": lambda worker, peer: ("obtain", "shared", PAGE),
    "release": lambda worker, peer: ("free_memory", worker.do("obtain", "host", PAGE)),
    "make": lambda worker, peer: ("make", PAGE, 1),
    "map": lambda worker, peer: (
        "map",
        worker.do("reserve", PAGE),
        4096,
        worker.do("make", 4096, 1),
        0,
    ),
    "unmap": lambda worker, peer: ("unmap", mapped(worker), 2 * PAGE),
    "free": lambda worker, peer: ("free", mapped(worker), 2 * PAGE),
    "get": lambda worker, peer: ("get", mapped(worker), PAGE),
    "put": lambda worker, peer: ("put", worker.do("get", mapped(worker), PAGE)),
    "open": lambda worker, peer: ("open", peer.handle),
    "close": lambda worker, peer: ("close", worker.do("open", peer.handle)),
    "write": lambda worker, peer: ("write_noise", mapped(worker), PAGE, 7),
}


@pytest.mark.parametrize("name", CALLS)
def test_death_after_any_question_costs_nobody_anything(
    emulator: EmulatorProcess, workers: Nursery, name: str
) -> None:
    peer = Peer(workers.start())
    assert peer.is_well()
    held = emulator.audit()
    for count in range(1, MOST_QUESTIONS):
        worker = workers.start()
        call = CALLS[name](worker, peer)
        worker.do("arm", count)
        try:
            worker.do(*call)
            is_over = True
        except Died:
            is_over = False
        worker.end()
        assert replace(emulator.audit(), faults=held.faults) == held, f"question {count}"
        assert peer.is_well()
        if is_over:
            break
    else:
        raise AssertionError("the call never ends")
    assert count > 1
    peer.worker.end()
