"""Whether drivers in processes of their own follow an emulator's rules, and those that do here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from hostdriver.runtime.attach import Attempt
    from hostdriver.runtime.runner import Runner

FOLLOW_VARIABLE: Final = "EMUZERO_FAULTS_FOLLOW"
"""Environment variable by which drivers follow rules: neither empty nor 0."""


class Following(Protocol):
    """A driver of this process that follows rules."""

    def tell(self) -> None:
        """Tell the emulator what happened since it was told last; it does not raise."""
        ...

    def catch_up(self) -> None:
        """Take the rules as they are now; it does not raise."""
        ...


local: Final[list[Following]] = []
"""Those of this process: whoever adds a rule here finds it in force afterwards."""


def is_asked() -> bool:
    """Return whether the environment asks for it."""
    return os.environ.get(FOLLOW_VARIABLE, "") not in {"", "0"}


def attempt_if_asked(path: Path, name: str) -> Attempt | None:
    """Have the connections of an attach follow rules, if the environment asks for it."""
    if not is_asked():
        return None
    # Nobody else pays for it.
    from hostdriver.inject.following import FollowingAttempt  # noqa: PLC0415

    return FollowingAttempt(path, name)


def follow_if_asked(runner: Runner) -> None:
    """Have a driver that has attached follow rules, if the environment asks for it."""
    if is_asked():
        # Nobody else pays for it.
        from hostdriver.inject.following import follow  # noqa: PLC0415

        follow(runner)
