"""The model as a state machine over programs of a pair: many more steps, and small failures.

A program dies here by losing its link, as when the kernel closes what a dead process held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hostdriver.testing.pair import DeviceSpec, Pair
from tests.harness.emulator_process import Audit
from tests.model import ipc_steps, leaks
from tests.model.play import Play
from tests.model.steps import STEPS
from tests.model.worker import Died, Hands, answer

if TYPE_CHECKING:
    import random

SMALL = 64 << 20
STEPS_OF_A_RULE = 8
IPC_STEPS = tuple(step for step in STEPS if step.__module__ == ipc_steps.__name__)
chances = st.randoms(use_true_random=False)


class Gone(BaseException):
    """Raised in a call by the observer: the program ends here, whatever it was doing."""


class Program:
    """One program of a pair; it can be killed at a question."""

    def __init__(self, devices: Pair) -> None:
        self._driver = devices.connect()
        self._hands = Dying(self._driver)

    def do(self, function: str, *arguments: int | str) -> Any:  # noqa: ANN401 - as in `Player`
        try:
            return answer(self._hands, function, list(arguments))
        except Gone:
            raise Died from None

    def end(self) -> None:
        runner = self._hands.runner
        runner.observer = None
        for session in runner.sessions:
            session.hang_up("killed")
        self._driver.close()


class Dying(Hands):
    """What a program can do, and dying in a call."""

    def arm(self, count: int) -> None:
        left = count

        def hear_question(question: object, answered: object) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                raise Gone

        self.runner.observer = hear_question if count else None


class Programs:
    """A cast of programs of one pair."""

    is_apart = False

    def __init__(self, devices: Pair) -> None:
        self._devices = devices

    def start(self) -> Program:
        return Program(self._devices)

    def audit(self) -> Audit:
        self._devices.check()
        audit = Audit.of(self._devices.statistics())
        return Audit(**{**vars(audit), "descriptors": 0, "mappings": 0})


class ModelMachine(RuleBasedStateMachine):
    @initialize()
    def power_up(self) -> None:
        self.devices = Pair([DeviceSpec(vram_size=SMALL)])
        self.play = Play(Programs(self.devices), 2)

    @rule(chance=chances)
    def take_steps(self, chance: random.Random) -> None:
        for _ in range(STEPS_OF_A_RULE):
            self.play.run(STEPS, chance)

    @rule(chance=chances)
    def share(self, chance: random.Random) -> None:
        self.play.run(IPC_STEPS, chance)

    @rule(chance=chances)
    def kill(self, chance: random.Random) -> None:
        self.play.doom(STEPS, chance)

    @invariant()
    def nothing_leaks(self) -> None:
        leaks.check(self.play)

    def teardown(self) -> None:
        try:
            leaks.finish(self.play)
        finally:
            self.devices.discard()


TestModel = ModelMachine.TestCase
TestModel.settings = settings(
    max_examples=max(settings().max_examples // 5, 5), stateful_step_count=15
)
