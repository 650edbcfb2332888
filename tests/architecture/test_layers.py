"""The contracts on imports cover what they are meant to cover; the linter checks the imports."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("device", "firmware", "hostdriver")
MEETING_PLACES = {"hostdriver.cli.emulator", "hostdriver.testing.devices"}


def contracts() -> dict[str, dict[str, list[str]]]:
    """Return the import contracts by their name."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        config = tomllib.load(file)
    return {contract["id"]: contract for contract in config["tool"]["importlinter"]["contracts"]}


def test_only_two_modules_know_both_sides() -> None:
    exceptions = contracts()["rooms"]["ignore_imports"]

    assert {line.split(" -> ")[0] for line in exceptions} == MEETING_PLACES


@pytest.mark.parametrize("room", ROOMS)
def test_every_folder_of_a_room_must_have_a_layer(room: str) -> None:
    contract = contracts()[room]

    assert contract["containers"] == [room]
    assert contract["exhaustive"]


@pytest.mark.parametrize(
    ("contract", "owner"),
    [("construct", "firmware.abi"), ("elftools", "firmware.image"), ("system", "firmware.link")],
)
def test_a_foreign_library_has_one_owner(contract: str, owner: str) -> None:
    exceptions = contracts()[contract]["ignore_imports"]

    assert {line.split(" -> ")[0] for line in exceptions} == {f"{owner}.**"}
    assert contracts()[contract]["source_modules"] == list(ROOMS)
