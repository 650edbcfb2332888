"""Who proves what: the ledger's rows beside the marks of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scripts.conformance.ledger import Ledger, Row
    from scripts.conformance.markers import Mark


class Verdict(NamedTuple):
    """One row and the tests that prove it, by profile as in `Row.needs`."""

    row: Row
    proofs: Mapping[str, tuple[Mark, ...]]

    @property
    def proved(self) -> bool:
        """Whether tests prove all of it."""
        return all(self.proofs.values())

    @property
    def reasons(self) -> list[str]:
        """Keys of the reasons why parts of it are open."""
        return [reason for reason in self.row.needs.values() if reason]


def judge(ledger: Ledger, marks: Sequence[Mark]) -> dict[str, list[Verdict]]:
    """Return the verdict on every row, by table."""
    by_id: dict[tuple[str, str], list[Mark]] = {}
    for mark in marks:
        by_id.setdefault((mark.marker, mark.id), []).append(mark)
    return {
        marker: [Verdict(row, _proofs(row, by_id.get((marker, row.id), []))) for row in rows]
        for marker, rows in ledger.tables.items()
    }


def problems(
    ledger: Ledger, marks: Sequence[Mark], verdicts: Mapping[str, Sequence[Verdict]]
) -> list[str]:
    """Return what keeps the page from being true, one line each; nothing when all is well."""
    return [
        *ledger.problems,
        *_unknown(ledger, marks),
        *(line for table in verdicts.values() for verdict in table for line in _unmet(verdict)),
    ]


def _proofs(row: Row, marks: Sequence[Mark]) -> dict[str, tuple[Mark, ...]]:
    return {
        profile: tuple(mark for mark in marks if not profile or profile in mark.profiles)
        for profile in row.needs
    }


def _unknown(ledger: Ledger, marks: Sequence[Mark]) -> Iterator[str]:
    known = {(marker, row.id) for marker, rows in ledger.tables.items() for row in rows}
    for mark in marks:
        if (mark.marker, mark.id) not in known:
            yield f"{mark.path}: {mark.test or 'pytestmark'}: unknown {mark.marker} {mark.id!r}"


def _unmet(verdict: Verdict) -> Iterator[str]:
    for profile, marks in verdict.proofs.items():
        name = f"{verdict.row.id} ({profile})" if profile else verdict.row.id
        reason = verdict.row.needs[profile]
        if not marks and not reason:
            yield f"{name}: no test proves it, and no reason says why"
        elif marks and reason:
            where = f"{marks[0].path}::{marks[0].test}"
            yield f"{name}: open for {reason!r}, although {where} proves it; take the reason away"
