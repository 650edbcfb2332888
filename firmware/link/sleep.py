"""How the device goes to sleep without missing a doorbell.

While the device is awake it polls the doorbell words, and drivers ring no bell. Before it sleeps on
the bells it says so where drivers look, in the DEVICE_ASLEEP register or the event index of a ring,
and looks at the doorbells once more. The other half of this protocol is
`firmware.link.notify.Doorbells`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.link.linux import fence

if TYPE_CHECKING:
    from collections.abc import Callable


def may_sleep(
    arm: Callable[[], None], work_waits: Callable[[], bool], *, fence: Callable[[], None] = fence
) -> bool:
    """Ask all drivers to ring, then return whether there is nothing to do.

    Args:
        arm: stores, for every driver, that the device needs the bell.
        work_waits: looks at what every driver stored (its rings' tails, or its doorbell words where
            no ring can be restarted unnoticed), not at an answer remembered.
        fence: what tests replace.

    Armed it stays, whatever the answer; a bell that is rung meanwhile is a needless hint. Whoever
    sleeps clears the bell that woke it, and only then looks at the rings: a ring that comes after
    the clearing is seen by the look or by the next sleep.
    """
    # 1. Arm: a driver that publishes from here on may see that the bell is needed ...
    arm()
    # 2. ... but only if our stores are visible before we load what it stored: see `notify`.
    fence()
    # 3. Look: what was published before that must be seen here.
    return not work_waits()
