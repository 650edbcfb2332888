"""Real processes doing random things, against the oracle of bytes, errors and leaks.

A failure prints its seed and the last calls; `EMUZERO_MODEL_SEED=SEED` runs that sequence again.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from tests.harness.emulator_process import emulator_process
from tests.model import leaks
from tests.model.play import Play, now_and_then
from tests.model.steps import STEPS
from tests.model.worker import nursery

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.harness.emulator_process import Audit, EmulatorProcess
    from tests.model.worker import Nursery, Worker

SEED_VARIABLE = "EMUZERO_MODEL_SEED"
SHOWN = 40
"""Calls that a failure shows."""


class Processes:
    """A cast of real processes on a real emulator."""

    is_apart = True

    def __init__(self, emulator: EmulatorProcess, bred: Nursery) -> None:
        self._emulator = emulator
        self._nursery = bred

    def start(self) -> Worker:
        return self._nursery.start()

    def audit(self) -> Audit:
        return self._emulator.audit()


@pytest.fixture(name="cast", scope="module")
def make_cast(tmp_path_factory: pytest.TempPathFactory) -> Generator[Processes]:
    with (
        emulator_process(tmp_path_factory.mktemp("emulator")) as emulator,
        nursery(emulator.path) as bred,
    ):
        yield Processes(emulator, bred)


def perform(cast: Processes, seed: int, *, steps: int, processes: int) -> int:
    """Run one sequence; return how many processes died inside a call."""
    chance = random.Random(seed)
    play = Play(cast, processes)
    try:
        for number in range(steps):
            if now_and_then(chance, 30):
                play.doom(STEPS, chance)
            else:
                play.run(STEPS, chance)
            if number % 20 == 0:
                leaks.check(play)
        leaks.finish(play)
    except BaseException:
        print(f"seed {seed}", *play.log[-SHOWN:], sep="\n")  # noqa: T201 - pytest shows it
        raise
    return play.deaths


def seeds(count: int) -> list[int]:
    given = os.environ.get(SEED_VARIABLE)
    if given:
        return [int(given)]
    return [random.SystemRandom().getrandbits(32) for _ in range(count)]


def test_processes_behave_as_the_oracle_says(cast: Processes) -> None:
    for seed in seeds(3):
        perform(cast, seed, steps=200, processes=3)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_processes_behave_for_long(cast: Processes) -> None:
    deaths = [perform(cast, seed, steps=1_000, processes=4) for seed in seeds(20)]

    assert sum(deaths) > 2.5 * len(deaths)
