"""Two threads in calls at once, stepped in every order: invariants after each step, one winner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hostdriver.api import (
    allocation,
    exporting,
    freeing,
    mapping,
    memory,
    opening,
    physical_memory,
    virtual_memory,
)
from hostdriver.api.memory_structures import DeviceMemAllocDesc, HostMemAllocDesc
from hostdriver.api.structures import IpcPhysMemHandleRangeExtDesc
from hostdriver.core.results import ZeError, ZeResult
from tests.harness.fake_session import FakeSession, Steps
from tests.harness.levelzero import HOST, PAGE, READWRITE, map_at, physical, reserve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from hostdriver.core.questions import Operation
    from hostdriver.core.state import DriverState

    Call: TypeAlias = Callable[[], Operation[Any]]

INVALID = ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT
IN_USE = ZeResult.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE
MOST_ORDERS = 400
WINDOW = (IpcPhysMemHandleRangeExtDesc(100),)


class Scene:
    """One process with something of each kind, and the calls that two threads may make with it."""

    def __init__(self) -> None:
        self.session = FakeSession()
        self.state: DriverState = self.session.state()
        session, state = self.session, self.state
        self.va = reserve(session, state, 4 * PAGE)
        self.physical = physical(session, state, PAGE, HOST)
        self.idle = physical(session, state, PAGE)
        map_at(session, state, self.va, self.physical)
        self.handle = session.run(exporting.get_handle(state, self.va, WINDOW))
        self.opened = session.run(opening.open_handle(state, 0, self.handle))
        self.memory = session.run(allocation.allocate_host(state, HostMemAllocDesc(), 5, 0))
        self.calls: dict[str, Call] = {
            "free": lambda: virtual_memory.free(state, self.va, 4 * PAGE),
            "unmap": lambda: virtual_memory.unmap(state, self.va, PAGE),
            "map": lambda: mapping.map_memory(state, self.va + PAGE, PAGE, self.idle, 0, READWRITE),
            "destroy": lambda: physical_memory.destroy(state, self.idle),
            "access": lambda: virtual_memory.set_access(state, self.va, PAGE, 2),
            "get": lambda: exporting.get_handle(state, self.va),
            "window": lambda: exporting.get_handle(state, self.va, WINDOW),
            "put": lambda: exporting.put_handle(state, self.handle),
            "open": lambda: opening.open_handle(state, 0, self.handle),
            "close": lambda: opening.close_handle(state, self.opened),
            "release": lambda: freeing.free(state, self.memory),
            "allocate": lambda: allocation.allocate_device(state, DeviceMemAllocDesc(), 5, 0, 0),
            "write": lambda: memory.write(state, self.va, memoryview(b"hello")),
        }

    def check(self) -> None:
        """Check every invariant; addresses are taken for what is there, or about to come or go."""
        self.state.check()
        assert self.state.arena is not None
        self.state.arena.check()

    def check_end(self) -> None:
        """Check that addresses are taken for what is there, and for nothing else."""
        self.check()
        state = self.state
        assert state.arena is not None
        stages = sum(lane.stage is not None for lane in state.devices[0].lanes.idle)
        ranges = len(state.reservations) + len(state.imports) + len(state.allocations)
        assert state.arena.statistics().reservation_count == stages + ranges


class Thread:
    """One call, stepped from question to question."""

    def __init__(self, scene: Scene, call: Call) -> None:
        self.error: ZeError | None = None
        self._steps: Steps[Any] | None = None
        try:
            self._steps = Steps(scene.session, call())
        except ZeError as error:
            self.error = error

    @property
    def is_over(self) -> bool:
        return self.error is not None or self._steps is None or self._steps.ended

    def step(self) -> None:
        assert self._steps is not None
        try:
            self._steps.step()
        except ZeError as error:
            self.error = error


def play(
    names: tuple[str, str], order: list[int]
) -> tuple[Scene, list[Thread], list[int], list[bool]]:
    """Run two calls: in this order as far as it goes, then the first before the second.

    Returns:
        Scene and threads; which thread took each step, and whether the other one could have.
    """
    scene = Scene()
    threads = [Thread(scene, scene.calls[names[0]])]
    taken: list[int] = []
    was_free: list[bool] = []
    while len(threads) < 2 or not all(thread.is_over for thread in threads):
        # The second thread has its first step when it begins.
        able = [
            number for number in (0, 1) if number == len(threads) or not threads[number].is_over
        ]
        chosen = order[len(taken)] if len(taken) < len(order) else able[0]
        taken.append(chosen)
        was_free.append(len(able) > 1)
        if chosen == len(threads):
            threads.append(Thread(scene, scene.calls[names[chosen]]))
        else:
            threads[chosen].step()
        scene.check()
    scene.check_end()
    return scene, threads, taken, was_free


def all_orders(names: tuple[str, str]) -> Iterator[tuple[Scene, list[Thread]]]:
    """Run two calls in every order of their steps, or in many."""
    orders: list[list[int]] = [[]]
    for _ in range(MOST_ORDERS):
        if not orders:
            return
        order = orders.pop()
        scene, threads, taken, was_free = play(names, order)
        orders.extend(
            [*taken[:at], 1]
            for at in range(len(order), len(taken))
            if was_free[at] and not taken[at]
        )
        yield scene, threads


def winners(threads: list[Thread]) -> int:
    return sum(thread.error is None for thread in threads)


@pytest.mark.parametrize("name", ["free", "close", "release", "destroy", "map"])
def test_of_two_equal_calls_one_succeeds_and_the_other_is_told(name: str) -> None:
    orders = 0
    for _, threads in all_orders((name, name)):
        orders += 1
        assert winners(threads) == 1
        assert [t.error.result for t in threads if t.error is not None] == [INVALID]
    assert orders >= 2


@pytest.mark.parametrize("name", ["unmap", "access", "put", "open", "window", "allocate", "write"])
def test_equal_calls_that_may_both_succeed_leave_one_at_least(name: str) -> None:
    for _, threads in all_orders((name, name)):
        assert winners(threads) >= 1
        assert {t.error.result for t in threads if t.error is not None} <= {INVALID}


def test_two_threads_get_the_same_handle() -> None:
    for scene, threads in all_orders(("get", "get")):
        assert winners(threads) == 2
        plain = [export for export in scene.state.exports if export.source is not None]
        assert [export.uses for export in plain] == [2]


@pytest.mark.parametrize(
    "names",
    [
        ("map", "destroy"),
        ("map", "free"),
        ("unmap", "free"),
        ("unmap", "get"),
        ("unmap", "window"),
        ("free", "get"),
        ("access", "unmap"),
        ("access", "free"),
        ("put", "open"),
        ("close", "open"),
        ("write", "unmap"),
        ("release", "allocate"),
    ],
)
def test_calls_that_meet_are_done_or_told(names: tuple[str, str]) -> None:
    for both in (names, names[::-1]):
        for _, threads in all_orders(both):
            assert winners(threads) >= 1
            told = {t.error.result for t in threads if t.error is not None}
            assert told <= {INVALID, IN_USE, ZeResult.ZE_RESULT_ERROR_ADDRESS_NOT_FOUND}
