"""The seed of all chance in a run: given, or drawn once and told."""

from __future__ import annotations

import random
from typing import Final, Protocol

import pytest


class Node(Protocol):
    """A worker of xdist as its controller has it."""

    config: pytest.Config
    workerinput: dict[str, object]
    """What it is told; `workerinput` of its configuration."""


SEED: Final = pytest.StashKey[int]()
OPTION: Final = "emuzero_seed"
_BITS: Final = 32


def add_seed(parser: pytest.Parser) -> None:
    """Let pytest know the option."""
    parser.getgroup("emuzero").addoption(
        "--emuzero-seed",
        dest=OPTION,
        help="seed of injected faults; by default another one in each run, which the header shows",
    )


def choose_seed(config: pytest.Config) -> None:
    """Choose the run's seed; workers of xdist are told that of their controller.

    Raises:
        pytest.UsageError: the one given is no number, or has more than 64 bits.
    """
    told: dict[str, object] = getattr(config, "workerinput", {})
    given: str | None = str(told[OPTION]) if OPTION in told else config.getoption(OPTION)
    drawn = random.SystemRandom().getrandbits(_BITS)
    config.stash[SEED] = drawn if given is None else _parsed(given)


def tell_worker(node: Node) -> None:
    """Tell a worker of xdist the run's seed."""
    node.workerinput[OPTION] = str(node.config.stash[SEED])


def seed_of(config: pytest.Config) -> int:
    """Return the run's seed."""
    return config.stash[SEED]


def _parsed(given: str) -> int:
    # A run that gives no seed loads nothing of this.
    from firmware.inject import RuleError, parse_seed  # noqa: PLC0415

    try:
        return parse_seed(given)
    except RuleError:
        expected = "expected a whole number of at most 64 bits"
        raise pytest.UsageError(f"--emuzero-seed={given}: {expected}") from None
