"""What is wrong with a rule or a scenario, told to who wrote it."""

from __future__ import annotations

from typing import final


@final
class RuleError(Exception):
    """A rule that nothing can carry out; the text says what, found and expected."""
