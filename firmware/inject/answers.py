"""What an injector tells: that a rule fired, what became of rules, which stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from firmware.inject.actions import Action
    from firmware.inject.rule import Rule
    from firmware.inject.site import Site


class Hit(NamedTuple):
    """One time that a rule fired."""

    number: int
    """Counted from 1 over all rules."""
    seconds: float
    """Time of the injector's clock."""
    rule: str
    """Name of the rule."""
    point: str
    """Name of the point."""
    occurrence: int
    """The how-many-th time it was that the point was reached, counted from 1."""
    action: Action
    site: Site
    bits: int
    """64 bits for what the action leaves open, such as which bit flips."""
    address: int = -1
    """First address of the site that the rule selects; -1: it selects by no address."""


class RuleStatus(NamedTuple):
    """A rule and what became of it."""

    name: str
    line: str
    """The rule as text."""
    seen: int
    """Sites that it selected."""
    fired: int
    """Sites at which it fired."""


class Standing(NamedTuple):
    """A rule that is active, for what has to act without being reached."""

    name: str
    rule: Rule
    begins: float
    """Time of the injector's clock from which it fires."""
