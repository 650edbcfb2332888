"""What a test has that its report needs: kept at the test while it runs.

Imported in every run of pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from hostdriver.pytestplugin.evidence import Evidence

EVIDENCE: Final[pytest.StashKey[Evidence]] = pytest.StashKey()
"""What is told of the emulator when the test fails."""
FAILED: Final[pytest.StashKey[bool]] = pytest.StashKey()
"""Whether a phase of the test has failed."""


def has_failed(item: pytest.Item) -> bool:
    """Return whether a phase of the test has failed already."""
    return item.stash.get(FAILED, False)
