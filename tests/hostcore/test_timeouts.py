"""Time limits: from the specification's nanoseconds to seconds."""

from __future__ import annotations

import pytest

from hostdriver.core.results import ZeError
from hostdriver.core.timeouts import INFINITE, seconds_of
from hostdriver.core.ze_result import ZeResult


@pytest.mark.parametrize(("nanoseconds", "seconds"), [(0, 0.0), (1, 1e-9), (2_500_000_000, 2.5)])
def test_limits_are_nanoseconds(nanoseconds: int, seconds: float) -> None:
    assert seconds_of(nanoseconds) == seconds


def test_only_the_largest_number_is_for_ever() -> None:
    assert seconds_of(INFINITE) is None
    assert seconds_of(INFINITE - 1) is not None


@pytest.mark.parametrize("number", [-1, INFINITE + 1])
def test_what_is_no_64_bit_number_is_refused(number: int) -> None:
    with pytest.raises(ZeError, match=str(number)) as failure:
        seconds_of(number)

    assert failure.value.result is ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT
