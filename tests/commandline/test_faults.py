"""`emuzero faults`: the points there are, and the rules of a running emulator."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest
from click.shell_completion import ShellComplete

from firmware.inject import points
from hostdriver.cli.main import emuzero as group
from tests.harness.commandline import emuzero, end, serving, start

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.harness.commandline import Emulator


@pytest.fixture(name="served", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Generator[Emulator]:
    with serving(tmp_path_factory.mktemp("faults"), "--vram", "64MiB") as emulator:
        yield emulator


def faults(served: Emulator, command: str, *words: object) -> str:
    """Return what a command says that ends well."""
    done = emuzero("faults", command, *words, "--socket", served.socket)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def document(served: Emulator, command: str, *words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(faults(served, command, *words, "--json"))
    return found


def test_every_point_is_listed_with_what_can_be_done_there() -> None:
    listed = json.loads(emuzero("faults", "list", "--json").stdout)
    actions = {action["action"]: action for action in listed["actions"]}

    assert [point["point"] for point in listed["points"]] == list(points())
    assert all(set(point["actions"]) <= set(actions) for point in listed["points"])
    assert actions["errno"]["main"] == "error"
    assert {"name": "error", "type": "str", "default": "EMFILE"} in actions["errno"]["parameters"]


def test_points_of_a_layer_are_a_line_each_and_a_glob_tells_all_of_some() -> None:
    short = emuzero("faults", "list", "--layer", "mmu").stdout
    full = emuzero("faults", "list", "mmu.walk").stdout

    assert "  mmu.walk" in short
    assert "dma.transfer" not in short
    assert "selectors  device, pid, process, address, size, level" in full
    assert "fail_walk=0" in full


def test_functions_of_the_interface_do_not_bury_the_other_points() -> None:
    short = emuzero("faults", "list").stdout
    each = emuzero("faults", "list", "api.*").stdout
    functions = [name for name in points() if name.startswith("api.")]

    assert short.startswith("api\n  api.FUNCTION ")
    assert f"{len(functions)} of them" in short
    assert all(f"  {name} " in short for name in points() if name not in functions)
    assert all(f"\n{name}: " in f"\n{each}" for name in functions)


def test_rules_are_added_shown_and_removed_by_name(served: Emulator) -> None:
    words = ("mmu.walk", "fail_walk=1", "nth=99999", "name=walk")
    assert faults(served, "add", *words, "--seed", 5) == "walk\n"
    assert (
        faults(served, "add", "mmu.entry flip nth=9999", "mmu.entry flip name=b").count("\n") == 2
    )

    shown = document(served, "rules")
    removed = faults(served, "remove", "walk")
    assert shown["seed"] == 5
    assert shown["rules"][0]["line"] == ("mmu.walk fail_walk=1 nth=0x1869f name=walk")
    assert "walk  mmu.walk fail_walk=1" in removed
    assert len(document(served, "clear")["rules"]) == 2
    assert document(served, "rules")["rules"] == []


def test_hits_and_coverage_tell_what_a_rule_did(served: Emulator) -> None:
    faults(served, "add", "device.round", "lost", "times=1", "after_seconds=0.001", "name=lost")
    faults(served, "add", "mmu.entry flip nth=9999")
    while not (told := faults(served, "hits", "--json")):
        pass
    hits = [json.loads(line) for line in told.splitlines()]
    line = faults(served, "hits", "--rule", "l*", "--point", "device.*")
    coverage = document(served, "coverage")
    text = faults(served, "coverage")
    faults(served, "clear", "--hits")

    assert [(hit["rule"], hit["point"], hit["action"]) for hit in hits] == [
        ("lost", "device.round", "lost")
    ]
    assert hits[0]["by"] == served.ready["pid"]
    assert line.count("\n") == 1
    assert "device.round lost  device=0" in line
    assert {point["point"]: point["fired"] for point in coverage["points"]}["device.round"] == 1
    assert "never reached" in text
    assert faults(served, "hits") == ""


def test_hits_are_followed_until_ctrl_c(served: Emulator) -> None:
    following = start("faults", "hits", "--follow", "--json", "--socket", served.socket)
    try:
        faults(served, "add", "device.round", "lost", "times=1", "after_seconds=0.001", "name=seen")
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["rule"] == "seen"
    finally:
        end(following, signal.SIGINT)
        faults(served, "clear", "--hits")

    assert following.returncode == 130


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["add", "mmu.wlak", "fail_walk"], 2, "did you mean mmu.walk?"),
        (["add", "mmu.walk", "drop"], 2, "mmu.walk does not take 'drop'; it takes fail_walk"),
        (["add", "mmu.walk", "fail_walk", "nht=3"], 2, "'nht'"),
        (["add"], 2, "`emuzero faults list` shows the points"),
        (["remove", "nobody"], 2, "no rule is called 'nobody'; there are: none"),
    ],
)
def test_what_is_wrong_is_told(served: Emulator, words: list[str], code: int, told: str) -> None:
    done = emuzero("faults", *words, "--socket", served.socket)

    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr


def test_without_an_emulator_the_exit_code_says_so() -> None:
    done = emuzero("faults", "rules", "--socket", "/nosuch/socket")

    assert done.returncode == 3
    assert "start one with `emuzero serve`" in done.stderr


def completions(*words: str, incomplete: str) -> list[str]:
    completing = ShellComplete(group, {}, "emuzero", "_EMUZERO_COMPLETE")
    return [item.value for item in completing.get_completions(list(words), incomplete)]


def test_a_shell_completes_points_then_actions_then_words() -> None:
    assert completions("faults", "list", incomplete="mmu.") == [
        name for name in points() if name.startswith("mmu.")
    ]
    assert completions("faults", "add", incomplete="dma.tr") == ["dma.transfer"]
    assert "partial=" in completions("faults", "add", "dma.transfer", incomplete="")
    assert completions("faults", "add", "os.driver.map", "errno=EIO", incomplete="nt") == ["nth="]
    assert completions("run", "--fault", incomplete="os.driver.map er") == ["os.driver.map errno="]
