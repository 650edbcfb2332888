"""The reports of a sweep as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.cli.exits import CommandError
from hostdriver.cli.sweep.page import html_page
from hostdriver.cli.sweep.reports import json_report, junit_report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hostdriver.cli.sweep.ledger import Entry, Heading


def write_reports(folder: Path, heading: Heading, entries: Sequence[Entry]) -> None:
    """Write all reports.

    Raises:
        CommandError: one cannot be written; those after it are not. The ledger has all runs.
    """
    for name, report in (
        ("report.json", json_report(heading, entries)),
        ("junit.xml", junit_report(heading, entries)),
        ("report.html", html_page(heading, entries).encode()),
    ):
        try:
            (folder / name).write_bytes(report)
        except OSError as error:
            raise CommandError(f"{folder / name}: {error.strerror}") from error
