"""Reports of a sweep for programs: JSON, and JUnit's XML as test runners show it."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

import msgspec

from firmware.inject import points
from hostdriver.cli.records import printable
from hostdriver.cli.sweep.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.cli.sweep.ledger import Entry, Heading

SCHEMA: Final = "emuzero-sweep-1"


class PointRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a sweep did at one point."""

    point: str
    reached: int
    """Times that the undisturbed program reached it."""
    armed: int
    """Runs in which a rule stood there."""
    fired: int
    """Runs in which it fired."""
    recovered: int
    """Runs in which the point was passed without a fault later."""


def repeat_command(heading: Heading, entry: Entry) -> str:
    """Return the one command that repeats a run."""
    question = heading.question
    options = [word for name, value in question.options.items() for word in (name, value)]
    seed = ["--seed", str(question.seed)] if question.seed else []
    words = ["emuzero", "run", *options, *seed, "--fault", entry.cell, "--", *question.program]
    return shlex.join(words)


def point_rows(heading: Heading, entries: Sequence[Entry]) -> tuple[PointRow, ...]:
    """Return a row for every point there is."""
    armed = Counter(entry.point for entry in entries)
    fired = Counter(entry.point for entry in entries if entry.trial.fired)
    recovered = Counter(entry.point for entry in entries if entry.recovered)
    return tuple(
        PointRow(
            point=name,
            reached=heading.reached.get(name, 0),
            armed=armed[name],
            fired=fired[name],
            recovered=recovered[name],
        )
        for name in points()
    )


def json_report(heading: Heading, entries: Sequence[Entry]) -> bytes:
    """Return the report as JSON."""
    rows = point_rows(heading, entries)
    counts = Counter(entry.outcome for entry in entries)
    document = {
        "schema": SCHEMA,
        "program": heading.question.program,
        "seed": heading.question.seed,
        "options": heading.question.options,
        "compares_output": heading.compares_output,
        "cells": len(heading.cells),
        "outcomes": {outcome.value: counts[outcome] for outcome in Outcome},
        "runs": [
            {
                **msgspec.to_builtins(entry),
                "command": repeat_command(heading, entry),
            }
            for entry in entries
        ],
        "points": msgspec.to_builtins([row for row in rows if row.reached or row.armed]),
        "never_reached": [row.point for row in rows if not row.reached],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def junit_report(heading: Heading, entries: Sequence[Entry]) -> bytes:
    """Return the report as JUnit's XML: a test for each run."""
    bad = [entry for entry in entries if not entry.outcome.is_good]
    skipped = [entry for entry in entries if entry.outcome is Outcome.NOT_FIRED]
    suite = ET.Element(
        "testsuite",
        name=f"emuzero sweep {printable(shlex.join(heading.question.program))}",
        tests=str(len(entries)),
        failures=str(len(bad)),
        errors="0",
        skipped=str(len(skipped)),
        time=f"{sum(entry.trial.seconds for entry in entries):.3f}",
    )
    for entry in entries:
        suite.append(_junit_case(heading, entry))
    suites = ET.Element("testsuites")
    suites.append(suite)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True).encode()


def _junit_case(heading: Heading, entry: Entry) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=entry.point,
        name=entry.cell,
        time=f"{entry.trial.seconds:.3f}",
    )
    if entry.outcome is Outcome.NOT_FIRED:
        ET.SubElement(case, "skipped", message=entry.text)
    elif not entry.outcome.is_good:
        failure = ET.SubElement(case, "failure", type=entry.outcome.value, message=entry.text)
        told = f"{entry.text}\n\n{repeat_command(heading, entry)}\n\n{entry.trial.tail}"
        failure.text = _xml_text(told)
    return case


def _xml_text(text: str) -> str:
    """Return text without the characters that XML has no way to write."""
    return "".join(letter for letter in text if letter in "\n\t" or letter.isprintable())
