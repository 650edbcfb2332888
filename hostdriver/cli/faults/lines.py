"""Rules, hits and coverage as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.cli.records import hexadecimal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from firmware.inject import Coverage
    from hostdriver.inject.messages import HitRow, RuleRow


def rule_lines(rows: Sequence[RuleRow]) -> Iterator[str]:
    """Yield a line for each rule: its name, its text, what became of it."""
    names = max((len(row.name) for row in rows), default=0)
    lines = max((len(row.line) for row in rows), default=0)
    for row in rows:
        counts = f"seen {row.seen:,}, fired {row.fired:,}"
        held = ", goes with its connection" if row.held else ""
        yield f"  {row.name:<{names}}  {row.line:<{lines}}  {counts}{held}"


def hit_line(hit: HitRow) -> str:
    """Return a hit in one line."""
    site = " ".join(f"{name}={_text(name, value)}" for name, value in hit.site.items())
    where = f"{hit.point} {hit.action}"
    return f"{hit.number:>5}  {hit.seconds:>10.6f} s  {hit.rule}  {where}  {site}  by {hit.by}"


def coverage_lines(coverage: Coverage) -> Iterator[str]:
    """Yield a line for each point that was reached or is armed, and how many never were."""
    rows = [row for row in coverage.points if row.reached or row.armed]
    width = max((len(row.point) for row in rows), default=5)
    yield f"{'point':<{width}}  {'reached':>9}  {'armed':>5}  {'fired':>7}  {'recovered':>9}"
    for row in rows:
        yield (
            f"{row.point:<{width}}  {row.reached:>9,}  {row.armed:>5}  {row.fired:>7,}"
            f"  {row.recovered:>9,}"
        )
    never = len(coverage.never_reached)
    yield f"{never} of {len(coverage.points)} points were never reached; --json names them"


def _text(name: str, value: int | str) -> str:
    return hexadecimal(value) if name == "address" and isinstance(value, int) else str(value)
