"""Calls whose threads wait: kept by number, outside of every slot."""

from __future__ import annotations

import pytest

from hostdriver.channel import waits
from hostdriver.channel.running import Running
from hostdriver.channel.waits import Waits
from hostdriver.core.results import ZeError, ZeResult


async def _nothing() -> bytes:
    return b""


def waiting() -> Running:
    operation = _nothing()
    operation.close()
    return Running(0, "zeEventHostSynchronize", operation)


def test_a_call_is_taken_up_once_by_its_number() -> None:
    kept = Waits()
    first, second = waiting(), waiting()
    numbers = kept.put(first), kept.put(second)

    assert list(kept) == [first, second]
    assert kept.take(numbers[1]) is second
    assert kept.take(numbers[1]) is None
    assert kept.take(0) is None
    assert list(kept) == [first]


def test_numbers_begin_anew_and_pass_over_those_that_still_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waits, "_NUMBERS", 4)
    kept = Waits()
    numbers = [kept.put(waiting()) for _ in range(3)]
    assert numbers == [1, 2, 3]
    kept.take(2)

    assert kept.put(waiting()) == 2


def test_more_waits_than_a_program_can_have_threads_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waits, "_MOST", 2)
    kept = Waits()
    kept.put(waiting())
    kept.put(waiting())

    with pytest.raises(ZeError) as refused:
        kept.put(waiting())
    assert refused.value.result is ZeResult.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
