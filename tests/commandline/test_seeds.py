"""Seeds on the command line, in the environment and in a talk: at most 64 bits."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from firmware.inject import RuleError, check_seed, parse_seed
from hostdriver.cli.exits import BadInput
from hostdriver.cli.faults.given import SEED_VARIABLE, from_environment
from hostdriver.cli.main import emuzero

TOO_LARGE = 1 << 64
TOO_SMALL = -(1 << 63) - 1


@pytest.mark.parametrize("seed", [0, 7, -1, TOO_LARGE - 1, TOO_SMALL + 1])
def test_a_seed_of_64_bits_is_taken(seed: int) -> None:
    assert check_seed(seed) == parse_seed(str(seed)) == parse_seed(hex(seed)) == seed


@pytest.mark.parametrize("seed", [TOO_LARGE, TOO_SMALL, 1 << 4000])
def test_a_larger_one_is_refused(seed: int) -> None:
    with pytest.raises(RuleError, match="at most 64 bits"):
        check_seed(seed)


@pytest.mark.parametrize(
    "command",
    [("run", "--", "true"), ("serve",), ("trace", "--", "true"), ("sweep", "--", "true")],
)
@pytest.mark.parametrize("seed", [str(TOO_LARGE), str(TOO_SMALL)])
def test_commands_refuse_it_before_they_start_anything(command: tuple[str, ...], seed: str) -> None:
    shown = CliRunner().invoke(emuzero, [command[0], f"--seed={seed}", *command[1:]])

    assert shown.exit_code == 2
    assert f"seed {seed}: expected a whole number" in " ".join(shown.output.split())
    assert "64 bits" in shown.output


def test_so_does_what_adds_rules() -> None:
    words = ["faults", "add", "device.round lost", "--seed", str(TOO_LARGE)]
    shown = CliRunner().invoke(emuzero, words)

    assert shown.exit_code == 2
    assert "64 bits" in shown.output


@pytest.mark.parametrize(
    ("text", "told"), [(str(TOO_LARGE), "at most 64 bits"), ("many", "'many' is no whole number")]
)
def test_the_environment_is_read_alike(text: str, told: str) -> None:
    with pytest.raises(BadInput, match=f"{SEED_VARIABLE}: .*{told}"):
        from_environment({SEED_VARIABLE: text})
