"""Scenarios: a seed, rules, and what is expected to come of them, in a file.

TOML, YAML and JSON have the same shape; a rule is a table of words or a line of text:

    seed: 7
    rules:
      - {point: os.driver.map, action: errno, error: ENOMEM, nth: 3, name: third}
      - "link.doorbell drop interval=1000"
    expect:
      exit_status: 0
      fired: {third: 1}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from firmware.inject.errors import RuleError
from firmware.inject.rule import Rule
from firmware.inject.seeds import check_seed
from firmware.inject.words import parse_rule, rule_of, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_FORMATS: Final[dict[str, Callable[[bytes], object]]] = {
    ".toml": msgspec.toml.decode,
    ".yaml": msgspec.yaml.decode,
    ".yml": msgspec.yaml.decode,
    ".json": msgspec.json.decode,
}


class Expectation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What has to come of a run; what is left out may be anything."""

    exit_status: int | None = None
    """Exit status of the program; 128 and the signal when one ended it."""
    fired: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    """How often rules fired, by their names."""
    leaks: bool | None = None
    """Whether the program left anything that it did not free."""

    def unmet(
        self, exit_status: int, fired: Mapping[str, int], *, leaks: bool | None = None
    ) -> tuple[str, ...]:
        """Return a sentence for each expectation that a run did not meet."""
        found: list[str] = []
        if self.exit_status is not None and exit_status != self.exit_status:
            found.append(f"exit status {exit_status}, expected {self.exit_status}")
        for name, times in self.fired.items():
            if fired.get(name, 0) != times:
                found.append(f"rule {name!r} fired {fired.get(name, 0)} times, expected {times}")
        if self.leaks is not None and leaks is not None and leaks != self.leaks:
            found.append("something leaked" if leaks else "nothing leaked, expected a leak")
        return tuple(found)


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """Rules that belong together."""

    rules: tuple[Rule, ...] = ()
    seed: int = 0
    expect: Expectation = Expectation()


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """A scenario as it stands in a file."""

    rules: list[str | dict[str, str | int | float | bool]]
    seed: int = 0
    expect: Expectation = Expectation()


def parse_scenario(data: bytes, suffix: str) -> Scenario:
    """Return the scenario in a file's bytes; `suffix` of its name says the format.

    Raises:
        RuleError: unknown format; not of that format or shape; a rule that cannot be carried out;
            a seed of more than 64 bits.
    """
    if suffix.lower() not in _FORMATS:
        raise RuleError(f"a scenario in {suffix!r}: expected {', '.join(_FORMATS)}")
    try:
        file = msgspec.convert(_FORMATS[suffix.lower()](data), _File)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise RuleError(f"no scenario: {error}") from error
    except RecursionError as error:
        raise RuleError("no scenario: it is nested too deeply") from error
    _check_expectation(file.expect)
    check_seed(file.seed)
    rules: list[Rule] = []
    for number, entry in enumerate(file.rules, 1):
        try:
            rules.append(parse_rule(entry) if isinstance(entry, str) else rule_of(entry))
        except RuleError as error:
            raise RuleError(f"rule {number}: {error}") from error
    check_names(rules)
    return Scenario(rules=tuple(rules), seed=file.seed, expect=file.expect)


def _check_expectation(expect: Expectation) -> None:
    """Say whether what is expected can come.

    Raises:
        RuleError: it cannot, whatever happens.
    """
    if expect.exit_status is not None and not 0 <= expect.exit_status <= 255:
        raise RuleError(f"expect: exit_status {expect.exit_status}, expected 0 to 255")
    for name, times in expect.fired.items():
        if times < 0:
            raise RuleError(f"expect: rule {name!r} fired {times} times, expected 0 or more")


def scenario_json(scenario: Scenario) -> bytes:
    """Return a scenario as JSON that `parse_scenario` reads."""
    expect = msgspec.to_builtins(scenario.expect)
    return msgspec.json.encode(
        {
            "seed": scenario.seed,
            "rules": [words_of(rule) for rule in scenario.rules],
            "expect": expect,
        }
    )


def check_names(rules: Sequence[Rule]) -> None:
    """Say whether rules that belong together call each other by the right names.

    Raises:
        RuleError: two have one name; one waits for a rule that is not there.
    """
    names = [rule.name for rule in rules if rule.name]
    for name in names:
        if names.count(name) > 1:
            raise RuleError(f"two rules are called {name!r}")
    for rule in rules:
        for other in (rule.when.after_rule, rule.when.before_rule):
            if other and other not in names:
                raise RuleError(f"no rule is called {other!r}, for which {rule.point} waits")
