"""What a fixture raises when a test has failed because of something that happened elsewhere."""

from __future__ import annotations

from typing import final


@final
class EmulatorFailed(AssertionError):
    """An emulator did not start, or ended; the text holds the end of its log."""


@final
class ProgramFailed(AssertionError):
    """A program did not end as it should have; the text holds what it wrote."""


@final
class ProcessFailed(AssertionError):
    """A child process failed, died or got stuck; the text says which, where, and why."""


@final
class NotRecovered(AssertionError):
    """A call did not fail by a rule, or does not work without it; the text says which."""


@final
class Leaked(AssertionError):
    """Something is still there that was not there before; the text says what and how many."""
