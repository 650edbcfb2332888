"""Exit codes, and the one way in which a command fails."""

from enum import IntEnum
from typing import ClassVar, final

import click


class Exit(IntEnum):
    """What the shell sees when a command ends."""

    OK = 0
    FAILED = 1
    """The command ran and something went wrong; the message says what."""
    USAGE = 2
    """The command line or a file named on it is wrong."""
    NO_EMULATOR = 3
    """No emulator listens where one was expected."""
    UNMET = 4
    """A program ran under a scenario, and what the scenario expects did not come."""
    INTERRUPTED = 130
    """Ended by Ctrl-C."""


class CommandError(click.ClickException):
    """Ends a command with one line on standard error and exit code FAILED."""

    exit_code: ClassVar[int] = Exit.FAILED

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


@final
class BadInput(CommandError):
    """The command line, or a file that it names, is wrong."""

    exit_code: ClassVar[int] = Exit.USAGE


@final
class NoEmulator(CommandError):
    """No emulator listens where one was expected."""

    exit_code: ClassVar[int] = Exit.NO_EMULATOR
