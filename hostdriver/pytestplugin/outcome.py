"""What a test has that its report needs: kept at the test while it runs.

Imported in every run of pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from hostdriver.pytestplugin.evidence import Evidence
    from hostdriver.pytestplugin.sweep import Fault

FAIL_NTH: Final = "emuzero_fail_nth"
"""The marker of tests that are run with each site failing."""


class Part(Protocol):
    """What one run of such a test is."""

    @property
    def fault(self) -> Fault | None:
        """What fails in this run."""
        ...

    def prepare(self) -> None:
        """Begin the run, before its fixtures are made; may skip or fail it."""
        ...

    def running(self, evidence: Evidence, seed: int) -> AbstractContextManager[None]:
        """Have the rules there while the test is called."""
        ...


EVIDENCE: Final[pytest.StashKey[Evidence]] = pytest.StashKey()
"""What is told of the emulator when the test fails."""
FAILED: Final[pytest.StashKey[bool]] = pytest.StashKey()
"""Whether a phase of the test has failed."""
PART: Final[pytest.StashKey[Part]] = pytest.StashKey()
"""Which run of a test it is that is run with each site failing."""


def injects(item: pytest.Item) -> bool:
    """Return whether a test has rules: it asks for what adds them, or is run for each site."""
    fixtures: Sequence[str] = getattr(item, "fixturenames", ())
    return "emuzero_inject" in fixtures or item.get_closest_marker(FAIL_NTH) is not None


def has_failed(item: pytest.Item) -> bool:
    """Return whether a phase of the test has failed already."""
    return item.stash.get(FAILED, False)
