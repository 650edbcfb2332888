"""What became of one run of a sweep, judged beside the run in which nothing failed."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

SIGNALS: Final = 128
"""What shells add to the number of a signal that ended a program."""
_KILLED: Final = SIGNALS + 9


class Outcome(StrEnum):
    """Kinds of runs, the good ones first."""

    HANDLED = "handled"
    """The program went on and did what it does, or said that it cannot and ended."""
    NOT_FIRED = "not fired"
    """The site was not reached this time: nothing was tried."""
    WRONG = "wrong result"
    """The program says that all is well, and its output is another."""
    LEAK = "leak"
    """Something is left that the program should have given back, or that outlives it."""
    HANG = "hang"
    """The program did not end in time."""
    CRASH = "crash"
    """A signal ended the program, or the emulator died or did not recover."""

    @property
    def is_good(self) -> bool:
        """Whether it is as it should be."""
        return self in {Outcome.HANDLED, Outcome.NOT_FIRED}


class Left(msgspec.Struct, frozen=True):
    """What somebody holds, by kind."""

    counts: dict[str, int]

    def beyond(self, other: Left) -> tuple[str, ...]:
        """Return what is here in excess of the other, as `2 memory objects`."""
        return tuple(
            f"{count - other.counts.get(kind, 0)} {kind}"
            for kind, count in self.counts.items()
            if count > other.counts.get(kind, 0)
        )


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One run as it was seen."""

    exit_status: int | None
    """Of the program, 128 and more for signals as shells say it; None: it was ended for time."""
    seconds: float
    output: str
    """Digest of what it wrote to standard output."""
    tail: str = ""
    """The end of what it wrote to standard error."""
    fired: int = 0
    """How often rules fired."""
    emulator_gone: bool = False
    """Whether the emulator died, or could not be used when the rules were removed."""
    unfreed: Left
    """What the program did not free."""
    remains: Left
    """What the emulator holds beyond what it held before, when the program has gone."""


class Judgement(NamedTuple):
    """A run and what it was."""

    outcome: Outcome
    text: str
    """Why, for people."""


def judge(trial: Trial, good: Trial, *, compares_output: bool, kills: bool) -> Judgement:
    """Say what a run was.

    Args:
        trial: the run.
        good: the run in which nothing failed.
        compares_output: whether the output is the same in every good run.
        kills: whether the rule kills a process, so that a killed program is no crash.
    """
    if trial.emulator_gone:
        return Judgement(Outcome.CRASH, "the emulator died, or could not be used afterwards")
    if trial.exit_status is None:
        return Judgement(Outcome.HANG, f"it had not ended after {trial.seconds:.1f} s")
    if not trial.fired:
        return Judgement(Outcome.NOT_FIRED, "the site was not reached this time")
    if remains := trial.remains.beyond(Left({})):
        return Judgement(Outcome.LEAK, f"the emulator still holds {', '.join(remains)}")
    was_killed = kills and trial.exit_status == _KILLED
    if trial.exit_status > SIGNALS and not was_killed:
        return Judgement(Outcome.CRASH, f"signal {trial.exit_status - SIGNALS} ended it")
    if trial.exit_status != good.exit_status:
        return Judgement(Outcome.HANDLED, f"it ended with exit status {trial.exit_status}")
    if unfreed := trial.unfreed.beyond(good.unfreed):
        return Judgement(Outcome.LEAK, f"it did not free {', '.join(unfreed)}")
    if compares_output and trial.output != good.output:
        return Judgement(Outcome.WRONG, "it ended as if all were well, with other output")
    return Judgement(Outcome.HANDLED, "it went on and did what it does")
