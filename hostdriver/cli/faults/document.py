"""What became of rules, as JSON; docs/faults.md describes every key.

Within one schema number keys are only added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from firmware.inject import points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.inject import Coverage
    from hostdriver.inject.messages import HitRow, RuleList, RuleRow

SCHEMA: Final = 1


def rules_document(rules: RuleList) -> dict[str, object]:
    """Return rules with what became of them."""
    return {
        "schema": SCHEMA,
        "seed": rules.seed,
        "counting": rules.counting,
        "rules": rule_rows(rules.rules),
    }


def rule_rows(rules: Sequence[RuleRow]) -> list[object]:
    """Return rules, an object each."""
    return [msgspec.to_builtins(rule) for rule in rules]


def hit_object(hit: HitRow) -> object:
    """Return one hit."""
    return msgspec.to_builtins(hit)


def coverage_document(coverage: Coverage) -> dict[str, object]:
    """Return the points that were reached or are armed, and the names of those never reached."""
    layers = points()
    return {
        "schema": SCHEMA,
        "points": [
            {"layer": layers[row.point].layer.value, **row._asdict()}
            for row in coverage.points
            if row.reached or row.armed
        ],
        "never_reached": list(coverage.never_reached),
    }
