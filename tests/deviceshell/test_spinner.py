"""Whether polling pays: when it is left out, and when it is done every time again."""

from __future__ import annotations

import pytest

from device.shell.spinner import Spinner


@pytest.fixture
def spinner(monkeypatch: pytest.MonkeyPatch) -> Spinner:
    monkeypatch.setattr("os.sched_getaffinity", two_processors)
    return Spinner()


def two_processors(_: int) -> set[int]:
    return {0, 1}


def fail_until(spinner: Spinner, times: int) -> None:
    """Poll in vain so many times, however often polling is left out between."""
    while times:
        if spinner.wants():
            spinner.failed()
            times -= 1


def left_out(spinner: Spinner) -> int:
    """Return how many times polling is left out before the next time."""
    count = 0
    while not spinner.wants():
        count += 1
    return count


def test_each_failure_doubles_the_times_that_polling_is_left_out(spinner: Spinner) -> None:
    found: list[int] = []
    for _ in range(9):
        fail_until(spinner, 1)
        found.append(left_out(spinner))

    assert found == [1, 2, 4, 8, 16, 32, 64, 64, 64]


def test_polling_that_pays_forgets_the_failures(spinner: Spinner) -> None:
    fail_until(spinner, 5)
    spinner.paid()
    fail_until(spinner, 1)

    assert left_out(spinner) == 1
