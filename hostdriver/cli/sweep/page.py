"""The page of a sweep: what fails where, for people who would rather look than read."""

from __future__ import annotations

import shlex
from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Final

from hostdriver.cli.sweep.outcome import Outcome
from hostdriver.cli.sweep.reports import point_rows, repeat_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hostdriver.cli.sweep.ledger import Entry, Heading

_COLOURS: Final = {
    Outcome.HANDLED: "#2e7d32",
    Outcome.NOT_FIRED: "#9e9e9e",
    Outcome.WRONG: "#ef6c00",
    Outcome.LEAK: "#f9a825",
    Outcome.HANG: "#6a1b9a",
    Outcome.CRASH: "#c62828",
}
_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem;
  color: #222; background: #fff }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
code, pre { font: 13px/1.4 ui-monospace, monospace } pre { background: #f5f5f5; padding: .6rem;
  overflow-x: auto; white-space: pre-wrap }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .2rem .7rem;
  border-bottom: 1px solid #e0e0e0; vertical-align: top } td.number { text-align: right }
.cells { display: flex; flex-wrap: wrap; gap: 2px }
.cell { width: 12px; height: 12px; display: inline-block; border-radius: 2px }
.bar { display: flex; height: 18px; border-radius: 4px; overflow: hidden; margin: .5rem 0 }
.legend span { margin-right: 1.2rem } details { margin: .5rem 0 } summary { cursor: pointer }
"""


def html_page(heading: Heading, entries: Sequence[Entry]) -> str:
    """Return the page: one file that needs nothing else."""
    program = shlex.join(heading.question.program)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Sweep of {escape(program)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>Sweep of <code>{escape(program)}</code></h1>",
        *_overview(heading, entries),
        *_failures(heading, entries),
        *_grid(heading, entries),
        *_never(heading, entries),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _overview(heading: Heading, entries: Sequence[Entry]) -> Iterator[str]:
    counts = Counter(entry.outcome for entry in entries)
    output = "is compared" if heading.compares_output else "differs by itself, and is not compared"
    yield (
        f"<p>{len(entries):,} of {len(heading.cells):,} runs, seed {heading.question.seed};"
        f" without a fault the program ends with exit status {heading.good.exit_status}"
        f" after {heading.good.seconds:.2f} s; its output {output}.</p>"
    )
    yield '<div class="bar">'
    for outcome in Outcome:
        if counts[outcome]:
            yield f'<div style="flex:{counts[outcome]};background:{_COLOURS[outcome]}"></div>'
    yield '</div><p class="legend">'
    for outcome in Outcome:
        yield f"<span>{_square(outcome)} {outcome.value}: {counts[outcome]:,}</span>"
    yield "</p>"


def _failures(heading: Heading, entries: Sequence[Entry]) -> Iterator[str]:
    bad = [entry for entry in entries if not entry.outcome.is_good]
    yield f"<h2>To look at: {len(bad):,}</h2>"
    for entry in bad:
        yield (
            f"<details><summary>{_square(entry.outcome)} <code>{escape(entry.cell)}</code>:"
            f" {entry.outcome.value}, {escape(entry.text)}</summary>"
            f"<pre>{escape(repeat_command(heading, entry))}</pre>"
        )
        if entry.trial.tail:
            yield f"<pre>{escape(entry.trial.tail)}</pre>"
        yield "</details>"


def _grid(heading: Heading, entries: Sequence[Entry]) -> Iterator[str]:
    by_point: dict[str, list[Entry]] = {}
    for entry in entries:
        by_point.setdefault(entry.point, []).append(entry)
    yield "<h2>Points</h2><table><tr><th>point</th><th>reached</th><th>armed</th><th>fired</th>"
    yield "<th>recovered</th><th>runs, by the number of the site</th></tr>"
    for row in point_rows(heading, entries):
        if not row.reached and not row.armed:
            continue
        cells = "".join(
            _square(entry.outcome, f"{entry.cell}: {entry.outcome.value}, {entry.text}")
            for entry in by_point.get(row.point, [])
        )
        numbers = (row.reached, row.armed, row.fired, row.recovered)
        columns = "".join(f'<td class="number">{number:,}</td>' for number in numbers)
        yield f"<tr><td><code>{escape(row.point)}</code></td>{columns}"
        yield f'<td><div class="cells">{cells}</div></td></tr>'
    yield "</table>"


def _never(heading: Heading, entries: Sequence[Entry]) -> Iterator[str]:
    never = [row.point for row in point_rows(heading, entries) if not row.reached]
    yield f"<h2>Never reached: {len(never):,}</h2><details><summary>which</summary><p>"
    yield " ".join(f"<code>{escape(point)}</code>" for point in never)
    yield "</p></details>"


def _square(outcome: Outcome, title: str = "") -> str:
    colour = _COLOURS[outcome]
    return f'<span class="cell" style="background:{colour}" title="{escape(title)}"></span>'
