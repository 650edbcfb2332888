"""`emuzero faults`: the points there are, and the rules of a running emulator."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

import click

from firmware.inject import Layer, RuleError, matching, points
from firmware.link.errors import LinkError
from hostdriver.cli.console import say
from hostdriver.cli.exits import BadInput, CommandError, NoEmulator
from hostdriver.cli.faults.completing import complete_points, complete_words
from hostdriver.cli.faults.document import (
    SCHEMA,
    coverage_document,
    hit_object,
    rule_rows,
    rules_document,
)
from hostdriver.cli.faults.given import read_scenario
from hostdriver.cli.faults.lines import coverage_lines, hit_line, rule_lines
from hostdriver.cli.faults.table import list_lines, point_lines, points_document
from hostdriver.cli.seeds import SEED
from hostdriver.inject.remote import Faults
from hostdriver.runtime.discovery import nobody_listens

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from firmware.inject import Point, Rule
    from hostdriver.inject.messages import HitRow, RuleRow

ArgumentsT = ParamSpec("ArgumentsT")
ResultT = TypeVar("ResultT")
EPILOG: Final = """\b
Examples:
  emuzero faults list                           all points in short
  emuzero faults list 'mmu.*'                   some, with all that is known of them
  emuzero faults add os.driver.map errno=ENOMEM nth=3
  emuzero faults hits --follow                  see them as they come
  emuzero faults remove rule1

\b
Exit codes:
  0  done        2  a rule, a point or the command line is wrong
  1  failed      3  no emulator listens

Rules that are added here stay until they are removed, or the emulator ends. docs/faults.md
tells of rules."""
_OPTIONS: Final = (
    click.option(
        "--socket",
        type=click.Path(path_type=Path),
        help="Where the emulator listens; else EMUZERO_SOCKET, else the shared one.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Write JSON (docs/faults.md)."),
)


def talk_options(command: Callable[ArgumentsT, ResultT]) -> Callable[ArgumentsT, ResultT]:
    """Give a command the options, as `socket` and `as_json`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@contextmanager
def _talk(socket: Path | None) -> Generator[Faults]:
    """Talk with an emulator; whatever goes wrong ends the command with one line.

    Raises:
        BadInput: it refuses what it is asked.
        NoEmulator, CommandError: there is none, or it is gone.
    """
    try:
        with Faults(socket, name="emuzero faults") as faults:
            yield faults
    except RuleError as error:
        raise BadInput(str(error)) from error
    except (LinkError, TimeoutError) as error:
        if isinstance(error, LinkError) and nobody_listens(error):
            raise NoEmulator(
                f"{error}; start one with `emuzero serve`, or name its socket with --socket or"
                " EMUZERO_SOCKET; EMUZERO_FAULTS has rules for one that starts on demand"
            ) from error
        raise CommandError(f"the emulator cannot be talked to: {error}") from error


@click.group(epilog=EPILOG)
def command() -> None:
    """Show where faults can be injected, and change the rules of a running emulator."""


@command.command("list")
@click.argument("glob", default="", shell_complete=complete_points)
@click.option("--layer", type=click.Choice([layer.value for layer in Layer]), help="Of one layer.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON (docs/faults.md).")
def list_(*, glob: str, layer: str | None, as_json: bool) -> None:
    """List points, what happens there and what can be done; with GLOB, all about those.

    No emulator is needed.
    """
    chosen = _chosen(glob, layer)
    if as_json:
        say(json.dumps(points_document(chosen), indent=2))
    elif glob:
        for point in chosen:
            for line in point_lines(point):
                say(line)
    else:
        for line in list_lines(chosen):
            say(line)


@command.command()
@click.argument("words", nargs=-1, shell_complete=complete_words, metavar="RULE...")
@click.option("--seed", type=SEED, help="Seed of all chance from now on.")
@click.option("--scenario", type=click.Path(path_type=Path), help="Add the rules of a file.")
@talk_options
def add(
    *,
    words: tuple[str, ...],
    seed: int | None,
    scenario: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Add rules, all or none, and print their names.

    Each RULE is one argument, such as 'os.driver.map errno=ENOMEM nth=3'; one rule may stand
    without quotes.
    """
    # A point has no spaces in it: then the arguments are the words of one rule.
    rules: list[str | Rule] = [" ".join(words)] if words and " " not in words[0] else [*words]
    if scenario is not None:
        found = read_scenario(scenario)
        rules += found.rules
        seed = found.seed if seed is None else seed
    if not rules:
        raise BadInput("no rule was given; `emuzero faults list` shows the points")
    with _talk(socket) as faults:
        names = faults.add(*rules, seed=seed, stay=True)
    if as_json:
        say(json.dumps({"schema": SCHEMA, "names": names}))
    else:
        for name in names:
            say(name)


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@talk_options
def remove(*, names: tuple[str, ...], socket: Path | None, as_json: bool) -> None:
    """Remove rules, all or none, and tell what became of them."""
    with _talk(socket) as faults:
        _show_removed(faults.remove(*names), as_json=as_json)


@command.command()
@talk_options
def rules(*, socket: Path | None, as_json: bool) -> None:
    """Show the rules with what became of them, and the seed."""
    with _talk(socket) as faults:
        found = faults.rules()
    if as_json:
        say(json.dumps(rules_document(found), indent=2))
        return
    say(f"seed {found.seed}{', all points are counted' if found.counting else ''}")
    for line in rule_lines(found.rules):
        say(line)


@command.command()
@click.option("--hits", "forget", is_flag=True, help="Forget hits and coverage too.")
@talk_options
def clear(*, forget: bool, socket: Path | None, as_json: bool) -> None:
    """Remove all rules, and tell what became of them."""
    with _talk(socket) as faults:
        _show_removed(faults.clear(forget=forget), as_json=as_json)


@command.command()
@click.option("--rule", default="", metavar="GLOB", help="Of rules of such names.")
@click.option("--point", default="", metavar="GLOB", shell_complete=complete_points)
@click.option("--follow", is_flag=True, help="Go on as they come, until Ctrl-C.")
@talk_options
def hits(*, rule: str, point: str, follow: bool, socket: Path | None, as_json: bool) -> None:
    """Show when rules fired, oldest first: a line each, with --json an object each."""

    def show(hit: HitRow) -> None:
        say(json.dumps(hit_object(hit)) if as_json else hit_line(hit))

    with _talk(socket) as faults:
        if follow:
            for hit in faults.follow(rule=rule, point=point):
                show(hit)
        for hit in faults.hits(rule=rule, point=point):
            show(hit)


@command.command()
@click.option("--count/--no-count", default=None, help="Count all points from now on, or do not.")
@talk_options
def coverage(*, count: bool | None, socket: Path | None, as_json: bool) -> None:
    """Show which points were reached, armed and fired at, and which never were.

    Points that no rule selects are counted with --count only: it costs time at each.
    """
    with _talk(socket) as faults:
        if count is not None:
            faults.count(on=count)
        found = faults.coverage()
    if as_json:
        say(json.dumps(coverage_document(found), indent=2))
        return
    for line in coverage_lines(found):
        say(line)


def _chosen(glob: str, layer: str | None) -> list[Point]:
    """Return the points that a glob and a layer leave.

    Raises:
        BadInput: none.
    """
    try:
        found = matching(glob) if glob else tuple(points().values())
    except RuleError as error:
        raise BadInput(str(error)) from error
    chosen = [point for point in found if layer is None or point.layer == layer]
    if not chosen:
        raise BadInput(f"no point of layer {layer} is called {glob!r}")
    return chosen


def _show_removed(rows: tuple[RuleRow, ...], *, as_json: bool) -> None:
    if as_json:
        say(json.dumps({"schema": SCHEMA, "rules": rule_rows(rows)}, indent=2))
    else:
        for line in rule_lines(rows):
            say(line)
