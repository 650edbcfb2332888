"""What is said about rules over an emulator's socket: one line of JSON each (docs/faults.md).

A request has its name under `do`, an answer under `is`. Every request but `report` is answered by
one line, in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from firmware.inject import PointCoverage, Rule, Site, line_of
from firmware.inject.words import Scalar

if TYPE_CHECKING:
    from firmware.inject import Hit

MOST_AT_A_TIME: Final = 256
"""Hits in one answer; who wants more asks again."""
_NOWHERE: Final = Site()


class _Request(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag=str.lower):
    """What an emulator is asked; unknown fields are refused."""


class Add(_Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Add rules, all or none; answered by `added`."""

    rules: list[str | dict[str, Scalar]]
    """Each a line of text or a table of words."""
    seed: int | None = None
    """Seed from now on; null leaves it."""
    hold: bool = False
    """Remove them when this connection ends."""


class Remove(_Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Remove rules, all or none; answered by `rules`: what became of them."""

    names: list[str]


class Release(_Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Remove what this connection holds; answered by `rules`: what became of them."""


class Rules(_Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ask for all rules; answered by `rules`."""


class Clear(_Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Remove all rules; answered by `rules`: what became of them."""

    forget: bool = False
    """Forget hits and coverage too."""


class Hits(_Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ask for hits, oldest first; answered by `hits`."""

    after: int = 0
    """Number of the last hit that is known already."""
    most: int = MOST_AT_A_TIME
    rule: str = ""
    """Glob of names of rules."""
    point: str = ""
    """Glob of points."""
    wait: bool = False
    """Answer when there is one, not before."""


class Covered(_Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ask what was reached; answered by `coverage`."""


class Count(_Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Count all points, whether a rule selects them or not; answered by `done`."""

    on: bool


class Seed(_Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Set the seed of all chance from now on; answered by `done`."""

    seed: int


class Follow(_Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For drivers in processes of their own: ask for their rules; answered by `orders`."""

    after: int = -1
    """Answer when the rules have changed since this generation, not before; -1: now."""
    process: str = ""
    """What the driver's process is called."""
    driver: int = 0
    """Its number, as its first answer said; 0: it has none yet, and is given one."""


class Halt(_Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For drivers in processes of their own: stop the process that asks (SIGSTOP).

    Answered by `done` when it goes on: its time is over, the rule is gone, or it cannot be stopped.
    """

    rule: str
    """Name of the rule for which it stands."""
    point: str
    seconds: float | None = None
    """How long; null: as long as the rule is there."""


class HitRow(msgspec.Struct, frozen=True, kw_only=True):
    """One time that a rule fired."""

    number: int
    """Counted from 1 over all processes, in the order in which the emulator heard of them."""
    seconds: float
    """Device time."""
    by: int
    """Process that carried it out."""
    rule: str
    point: str
    occurrence: int
    """The how-many-th time that the point was reached in that process."""
    action: str
    """As in the text of a rule: `errno=EIO`."""
    site: dict[str, int | str]
    """What was known there."""
    bits: int
    """64 bits by which an action chose what it left open."""


class Report(_Request, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For drivers in processes of their own: what happened since the last report; not answered."""

    hits: list[HitRow] = []
    points: dict[str, tuple[int, int, int]] = {}
    """Times reached, fired, recovered of each point."""
    rules: dict[int, tuple[int, int]] = {}
    """Times seen, fired of each rule, by serial number."""
    process: str = ""
    """As in `follow`."""
    driver: int = 0


class _Answer(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag=str.lower):
    """What an emulator answers."""


class Done(_Answer, frozen=True, kw_only=True):
    """It is done."""


class Refused(_Answer, frozen=True, kw_only=True):
    """It is not done, and nothing changed."""

    text: str


class Added(_Answer, frozen=True, kw_only=True):
    """Rules were added."""

    names: list[str]


class RuleRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rule and what became of it, in all processes together."""

    name: str
    line: str
    seen: int
    """Sites that it selected."""
    fired: int
    held: bool
    """Whether it is removed when the connection that added it ends."""


class RuleList(_Answer, frozen=True, kw_only=True, tag="rules"):
    """Rules, in their order."""

    seed: int
    counting: bool
    """Whether all points are counted."""
    rules: list[RuleRow]


class HitList(_Answer, frozen=True, kw_only=True, tag="hits"):
    """Hits, oldest first."""

    hits: list[HitRow]
    last: int
    """Number of the last hit that was looked at; ask for those after it."""
    total: int
    """Number of the last hit there is; only the first 10,000 are kept."""


class PointRow(msgspec.Struct, frozen=True):
    """What became of one point, in all processes together."""

    point: str
    reached: int
    armed: int
    """Rules that select it now."""
    fired: int
    recovered: int

    def coverage(self) -> PointCoverage:
        """Return it as an injector tells it."""
        return PointCoverage(self.point, self.reached, self.armed, self.fired, self.recovered)


class DriverRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a driver in a process of its own reached."""

    process: str
    """What it is called."""
    driver: int
    """The how-many-th of its name it was to follow, from 1: `driver=` of a rule selects it."""
    points: dict[str, int]
    """Times reached of each point."""


class CoverageList(_Answer, frozen=True, kw_only=True, tag="coverage"):
    """Points that were reached, or that a rule selects; all others were not."""

    points: list[PointRow]
    drivers: list[DriverRow] = []
    """What of it each driver in a process of its own reached, in the order of their names."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for drivers in processes of their own."""

    serial: int
    """Its number; one that is added anew under the same name has another."""
    name: str
    words: dict[str, Scalar]
    since: float
    """When it was added, in device time."""


class Orders(_Answer, frozen=True, kw_only=True):
    """Rules that select points of drivers."""

    driver: int
    """The number of the driver that asked; the rules are those that are for it."""
    generation: int
    """The number of this state of the rules."""
    seed: int
    counting: bool
    seconds: float
    """Device time now."""
    rules: list[Order]


Request: TypeAlias = (
    Add | Remove | Release | Rules | Clear | Hits | Covered | Count | Seed | Follow | Halt | Report
)
Answer: TypeAlias = Done | Refused | Added | RuleList | HitList | CoverageList | Orders
encode: Final = msgspec.json.Encoder().encode
decode_request: Final = msgspec.json.Decoder(Request).decode
decode_answer: Final = msgspec.json.Decoder(Answer).decode


def row_of(hit: Hit, number: int, by: int) -> HitRow:
    """Return a hit as it is told."""
    known = {
        name: value
        for name, value in hit.site._asdict().items()
        if value != getattr(_NOWHERE, name)
    }
    return HitRow(
        number=number,
        seconds=hit.seconds,
        by=by,
        rule=hit.rule,
        point=hit.point,
        occurrence=hit.occurrence,
        action=line_of(Rule(hit.point, hit.action)).partition(" ")[2],
        site=known,
        bits=hit.bits,
    )
