"""Fences: signalled by a queue, looked at, waited for, reset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hostdriver.api.event_structures import FenceDesc
from hostdriver.api.fences import Fence, create_fence
from hostdriver.core.results import ZeResult
from hostdriver.core.work_enums import FenceFlags
from hostdriver.testing.pair import pair
from tests.harness.events import INVALID, LOST, NOT_READY, SMALL, Target, result_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostdriver.api.context import Context


@pytest.fixture
def context() -> Iterator[Context]:
    with pair(SMALL) as world:
        yield world.driver.create_context()


def make(context: Context, desc: FenceDesc | None) -> Fence:
    return Fence(context, context.run(lambda state: create_fence(state, desc)))


def signal(queue: Target, fence: Fence) -> None:
    queue.submit(lambda state: fence.record.signal_commands(state, queue).after)


def test_a_fence_is_signalled_by_its_queue_until_it_is_reset(context: Context) -> None:
    fence, queue = make(context, FenceDesc()), Target(context)
    for _ in range(3):
        assert result_of(fence.query_status) is NOT_READY
        assert result_of(fence.host_synchronize, 0) is NOT_READY
        signal(queue, fence)
        fence.host_synchronize()
        fence.query_status()
        fence.reset()


def test_a_fence_may_be_made_signalled(context: Context) -> None:
    make(context, FenceDesc(FenceFlags.SIGNALED)).query_status()


def test_a_fence_of_a_queue_that_stopped_is_lost(context: Context) -> None:
    fence, queue = make(context, FenceDesc()), Target(context)
    queue.fault()
    signal(queue, fence)

    assert result_of(fence.host_synchronize) is LOST
    assert result_of(fence.query_status) is LOST


def test_a_time_limit_is_a_64_bit_number(context: Context) -> None:
    assert result_of(make(context, FenceDesc()).host_synchronize, -1) is INVALID


def test_a_destroyed_fence_is_used_no_more(context: Context) -> None:
    fence = make(context, FenceDesc())
    fence.destroy()

    for function in (fence.destroy, fence.query_status, fence.reset):
        assert result_of(function) is INVALID


def test_a_fence_made_anew_is_not_signalled(context: Context) -> None:
    for _ in range(3):
        fence = make(context, FenceDesc())
        assert result_of(fence.query_status) is NOT_READY
        signal(Target(context), fence)
        fence.host_synchronize()
        fence.destroy()


def test_fences_that_cannot_be_are_refused(context: Context) -> None:
    assert result_of(make, context, None) is ZeResult.ZE_RESULT_ERROR_INVALID_NULL_POINTER
    unknown = FenceDesc(2)  # type: ignore[arg-type]
    assert result_of(make, context, unknown) is ZeResult.ZE_RESULT_ERROR_INVALID_ENUMERATION
