"""`emuzero sweep --minimise`: a scenario that fails, without the rules that are not needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from firmware.inject import line_of, scenario_json
from firmware.inject.actions import Kill
from hostdriver.cli.console import say, say_aside
from hostdriver.cli.exits import BadInput, CommandError, Exit
from hostdriver.cli.faults.given import read_scenario
from hostdriver.cli.sweep.minimise import minimise
from hostdriver.cli.sweep.outcome import Judgement, judge
from hostdriver.cli.sweep.sweep import time_limit
from hostdriver.cli.sweep.trial import Setting, run_trial

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from firmware.inject import Rule
    from hostdriver.cli.sweep.outcome import Trial


def reduce_scenario(setting: Setting, path: Path, timeout: float | None) -> int:
    """Print the scenario in a file without the rules that its failure does not need.

    Raises:
        BadInput: it is no scenario, or has no rules.
        CommandError: the program does not fail under it.
    """
    scenario = read_scenario(path)
    if not scenario.rules:
        raise BadInput(f"{path} has no rules")
    if scenario.seed and not setting.seed:
        setting = setting._replace(seed=scenario.seed)
    first, second = run_trial(setting).trial, run_trial(setting).trial
    setting = setting._replace(timeout_seconds=timeout or time_limit(first.seconds))
    compares = first.output == second.output
    whole = _judge(setting, first, scenario.rules, compares_output=compares)
    if whole.outcome.is_good:
        raise CommandError(f"under {path} the program is {whole.outcome.value}: {whole.text}")
    say_aside(f"minimise: {len(scenario.rules)} rules: {whole.outcome.value}, {whole.text}")

    def still_fails(rules: Sequence[Rule]) -> bool:
        found = _judge(setting, first, rules, compares_output=compares)
        say_aside(f"minimise: {len(rules)} rules: {found.outcome.value}, {found.text}")
        return found.outcome is whole.outcome

    needed = minimise(scenario.rules, still_fails)
    for rule in needed:
        say_aside(f"minimise: needed: {line_of(rule)}")
    kept = msgspec.structs.replace(scenario, rules=needed, seed=setting.seed)
    say(msgspec.json.format(scenario_json(kept), indent=2).decode())
    return Exit.OK


def _judge(
    setting: Setting, good: Trial, rules: Sequence[Rule], *, compares_output: bool
) -> Judgement:
    known = {rule.name for rule in rules}
    # A rule that waits for one that was dropped never fires, which is what its absence means.
    usable = [
        rule for rule in rules if {rule.when.after_rule, rule.when.before_rule} - {""} <= known
    ]
    trial = run_trial(setting, usable).trial if usable else good
    kills = any(isinstance(rule.action, Kill) for rule in rules)
    return judge(trial, good, compares_output=compares_output, kills=kills)
