"""Reports: what fails is in all of them, with the command that repeats it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from hostdriver.cli.exits import CommandError
from hostdriver.cli.sweep.files import write_reports
from hostdriver.cli.sweep.ledger import Entry, Heading, Question
from hostdriver.cli.sweep.outcome import Left, Outcome, Trial
from hostdriver.cli.sweep.page import html_page
from hostdriver.cli.sweep.reports import json_report, junit_report, repeat_command

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = Question(
    program=["./p", "a b"], options={"--devices": "2"}, seed=7, rules=["all"], most=0
)
GOOD = Trial(
    exit_status=0,
    seconds=0.5,
    output="x",
    fired=1,
    tail="<b>oops</b>\x1b[0m",
    unfreed=Left({}),
    remains=Left({}),
)
CELLS = ["mmu.walk fail_walk nth=1", "'link.tail' stale nth=2", "memory.allocate fail nth=1"]
HEADING = Heading(
    question=QUESTION,
    cells=CELLS,
    good=GOOD,
    compares_output=True,
    reached={"mmu.walk": 1, "link.tail": 2},
)


def _entry(cell: str, outcome: Outcome, *, recovered: bool = False) -> Entry:
    point = cell.split(maxsplit=1)[0].strip("'")
    return Entry(
        cell=cell, point=point, nth=1, outcome=outcome, text=f"<{outcome}>", trial=GOOD,
        recovered=recovered,
    )  # fmt: skip


ENTRIES = (
    _entry(CELLS[0], Outcome.HANDLED, recovered=True),
    _entry(CELLS[1], Outcome.CRASH),
    _entry(CELLS[2], Outcome.NOT_FIRED),
)
COMMAND = "emuzero run --devices 2 --seed 7 --fault 'memory.allocate fail nth=1' -- ./p 'a b'"


def test_one_command_repeats_a_run() -> None:
    assert repeat_command(HEADING, ENTRIES[2]) == COMMAND


def test_json_has_every_run_counts_and_coverage() -> None:
    document = json.loads(json_report(HEADING, ENTRIES))
    assert document["outcomes"]["crash"] == 1
    assert [run["outcome"] for run in document["runs"]] == ["handled", "crash", "not fired"]
    assert document["runs"][2]["command"] == COMMAND
    walk = {"point": "mmu.walk", "reached": 1, "armed": 1, "fired": 1, "recovered": 1}
    assert walk in document["points"]
    assert "memory.allocate" in document["never_reached"]


def test_junit_has_a_case_for_each_run_and_is_wellformed_whatever_a_program_wrote() -> None:
    suite = ET.fromstring(junit_report(HEADING, ENTRIES))[0]  # noqa: S314 - our own
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    failure = suite[1].find("failure")
    assert failure is not None
    assert failure.get("type") == "crash"
    assert "emuzero run" in (failure.text or "")
    assert "<b>oops</b>" in (failure.text or "")


def test_the_page_shows_what_to_look_at_and_takes_nothing_for_markup() -> None:
    page = html_page(HEADING, ENTRIES)
    assert "To look at: 1" in page
    assert "&lt;b&gt;oops&lt;/b&gt;" in page
    assert "<b>oops" not in page
    assert "<code>mmu.walk</code>" in page
    assert "src=" not in page


def test_a_report_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").symlink_to("/dev/full")
    with pytest.raises(CommandError, match=r"junit\.xml: No space left on device"):
        write_reports(tmp_path, HEADING, ENTRIES)
    assert (tmp_path / "report.json").read_bytes() == json_report(HEADING, ENTRIES)
