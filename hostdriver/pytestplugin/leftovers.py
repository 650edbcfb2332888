"""What a test made with its driver and did not give back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.core.results import ZeError
from hostdriver.pytestplugin.errors import Leaked
from hostdriver.testing.leftovers import left_by_program

if TYPE_CHECKING:
    from hostdriver.api.driver import Driver


def check_driver(driver: Driver) -> None:
    """Do nothing when a driver's program has given back all that it made.

    Raises:
        Leaked: it has not; what, and where.
    """
    __tracebackhide__ = True
    try:
        left = driver.look(lambda state: [*left_by_program(state)])
    except ZeError:
        # It was closed, or the emulator is gone: whoever ended it looks after that.
        return
    if left:
        raise Leaked("\n  ".join([f"the test left {len(left)} behind in its driver:", *left]))
