"""Scenarios: three formats of one shape, and what is wrong in them."""

from __future__ import annotations

import pytest

from firmware.inject import Expectation, RuleError, parse_rule, parse_scenario, scenario_json

YAML = b"""
seed: 7
rules:
  - {point: os.driver.map, action: errno, error: ENOMEM, nth: 3, name: third}
  - "link.doorbell drop interval=1000"
expect:
  exit_status: 0
  fired: {third: 1}
"""
TOML = b"""
seed = 7
rules = [
  {point = "os.driver.map", action = "errno", error = "ENOMEM", nth = 3, name = "third"},
  "link.doorbell drop interval=1000",
]
[expect]
exit_status = 0
fired = {third = 1}
"""


def test_yaml_toml_and_json_say_the_same() -> None:
    scenario = parse_scenario(YAML, ".yaml")
    assert scenario.seed == 7
    assert scenario.rules == (
        parse_rule("os.driver.map errno=ENOMEM nth=3 name=third"),
        parse_rule("link.doorbell drop interval=1000"),
    )
    assert scenario.expect == Expectation(exit_status=0, fired={"third": 1})
    assert parse_scenario(TOML, ".toml") == scenario
    assert parse_scenario(scenario_json(scenario), ".json") == scenario


@pytest.mark.parametrize(
    ("data", "suffix", "told"),
    [
        (b"", ".ini", "a scenario in '.ini': expected .toml"),
        (b"rules: [", ".yaml", "no scenario"),
        (b"\xff\xfe", ".toml", "no scenario"),
        (b"[]", ".json", "no scenario: Expected `object`, got `array`"),
        (b'{"rules": [3]}', ".json", "no scenario"),
        (b'{"rules": [], "sed": 3}', ".json", "unknown field `sed`"),
        (b'{"rules": ["link.doorbell drop", "link.doorbell"]}', ".json", "rule 2: "),
        (
            b'{"rules": ["link.doorbell drop name=a", "link.tail stale name=a"]}',
            ".json",
            "two rules",
        ),
        (b"[" * 100_000, ".json", "no scenario: it is nested too deeply"),
        (b"a = " + b"[" * 100_000, ".toml", "no scenario: it is nested too deeply"),
        (b'{"rules": [], "seed": 18446744073709551616}', ".json", "18446744073709551616: expected"),
        (b"rules = []\nseed = -9223372036854775809", ".toml", "-9223372036854775809: expected"),
        (b"rules: []\nseed: 18446744073709551616", ".yaml", "18446744073709551616: expected"),
        (b'{"rules": [], "expect": {"exit_status": 300}}', ".json", "exit_status 300, expected 0"),
        (b'{"rules": [], "expect": {"fired": {"a": -1}}}', ".json", "'a' fired -1 times"),
        (b'{"rules": ["link.doorbell drop after_rule=b"]}', ".json", "no rule is called 'b'"),
    ],
)
def test_what_is_no_scenario_is_told(data: bytes, suffix: str, told: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_scenario(data, suffix)
    assert told in str(caught.value)


def test_unmet_expectations_are_sentences() -> None:
    expect = Expectation(exit_status=0, fired={"a": 1}, leaks=False)
    assert expect.unmet(0, {"a": 1}, leaks=False) == ()
    assert expect.unmet(139, {}, leaks=True) == (
        "exit status 139, expected 0",
        "rule 'a' fired 0 times, expected 1",
        "something leaked",
    )
