"""Rules that commands are given: by options, a scenario file, and the environment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, ParamSpec, TypeVar

import click
import msgspec

from firmware.inject import (
    Expectation,
    RuleError,
    Scenario,
    parse_rule,
    parse_scenario,
    parse_seed,
)
from firmware.inject.scenario import check_names
from hostdriver.cli.exits import BadInput
from hostdriver.cli.faults.completing import complete_rules
from hostdriver.cli.seeds import SEED
from hostdriver.inject.joining import FOLLOW_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from firmware.inject import Rule

RULES_VARIABLE: Final = "EMUZERO_FAULTS"
"""Environment variable with rules, or @ and the name of a scenario file."""
SEED_VARIABLE: Final = "EMUZERO_FAULTS_SEED"
"""Environment variable with the seed."""
VARIABLES: Final = (RULES_VARIABLE, SEED_VARIABLE)
MOST_BYTES: Final = 4 << 20
"""Largest file of a scenario: a thousand rules take a hundredth of it, a device never ends."""
ArgumentsT = ParamSpec("ArgumentsT")
ResultT = TypeVar("ResultT")
_OPTIONS: Final = (
    click.option(
        "--fault",
        metavar="RULE",
        multiple=True,
        shell_complete=complete_rules,
        help="Inject a fault, such as 'os.driver.map errno=ENOMEM nth=3' (docs/faults.md).",
    ),
    click.option(
        "--scenario",
        type=click.Path(path_type=Path),
        help="Inject the faults of a file: TOML, YAML or JSON.",
    ),
    click.option("--seed", type=SEED, help="Seed of the faults' chance; the scenario's, or 0."),
    click.option(
        "--count-points",
        is_flag=True,
        help="Count every point that is reached, not only those of rules; it costs time.",
    ),
)


class Injection(NamedTuple):
    """What is injected from the start."""

    scenario: Scenario = Scenario()
    counts_all: bool = False

    @property
    def is_any(self) -> bool:
        """Whether there is anything to tell of afterwards."""
        scenario = self.scenario
        return bool(scenario.rules) or self.counts_all or scenario.expect != Expectation()

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which drivers in processes of their own hear of the rules."""
        return {FOLLOW_VARIABLE: "1"} if self.scenario.rules or self.counts_all else {}


NOTHING: Final = Injection()


def fault_options(command: Callable[ArgumentsT, ResultT]) -> Callable[ArgumentsT, ResultT]:
    """Give a command the options, as `fault`, `scenario`, `seed` and `count_points`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def injection_of(
    fault: tuple[str, ...], scenario: Path | None, seed: int | None, *, counts_all: bool
) -> Injection:
    """Return what options and environment say; rules of all of them, of the environment first.

    Raises:
        BadInput: a rule, a file or the seed is wrong; the text says where it stands.
    """
    found = from_environment(os.environ)
    if scenario is not None:
        found = _joined(found, read_scenario(scenario), "--scenario")
    lines = tuple(_parsed(line, "--fault") for line in fault)
    found = _joined(found, msgspec.structs.replace(found, rules=lines), "--fault")
    if seed is not None:
        found = msgspec.structs.replace(found, seed=seed)
    return Injection(found, counts_all)


def from_environment(environment: Mapping[str, str]) -> Scenario:
    """Return the rules and the seed that the environment names.

    Raises:
        BadInput: one is wrong.
    """
    text = environment.get(RULES_VARIABLE, "").strip()
    if text.startswith("@"):
        found = read_scenario(Path(text[1:]), f"{RULES_VARIABLE}: ")
    else:
        lines = [line for line in text.replace(";", "\n").splitlines() if line.strip()]
        rules = tuple(_parsed(line, RULES_VARIABLE) for line in lines)
        found = _joined(Scenario(), Scenario(rules=rules), RULES_VARIABLE)
    seed = environment.get(SEED_VARIABLE, "").strip()
    if not seed:
        return found
    try:
        return msgspec.structs.replace(found, seed=parse_seed(seed))
    except RuleError as error:
        raise BadInput(f"{SEED_VARIABLE}: {error}") from error


def read_scenario(path: Path, where: str = "") -> Scenario:
    """Return the scenario in a file.

    Raises:
        BadInput: it cannot be read, or is none.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise BadInput(f"{where}{path}: more than {MOST_BYTES >> 20} MiB, and no scenario")
        return parse_scenario(data, path.suffix)
    except OSError as error:
        raise BadInput(f"{where}{path}: {error.strerror}") from error
    except RuleError as error:
        raise BadInput(f"{where}{path}: {error}") from error


def _parsed(line: str, where: str) -> Rule:
    try:
        return parse_rule(line)
    except RuleError as error:
        raise BadInput(f"{where}: {error}") from error


def _joined(first: Scenario, second: Scenario, where: str) -> Scenario:
    """Return a scenario with the rules of both, and seed and expectation of the second."""
    rules = [*first.rules, *second.rules]
    try:
        check_names(rules)
    except RuleError as error:
        raise BadInput(f"{where}: {error}") from error
    return msgspec.structs.replace(second, rules=tuple(rules))
