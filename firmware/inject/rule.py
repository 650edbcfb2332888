"""Rules: at which points, for whom, when, and what an injection does."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

import msgspec

from firmware.inject.actions import Action, Flip, Set
from firmware.inject.catalogue import matching
from firmware.inject.errors import RuleError
from firmware.inject.names import check_names
from firmware.inject.numbers import check_numbers

if TYPE_CHECKING:
    from firmware.inject.point import Point
    from firmware.inject.site import Site

FOREVER: Final = -1
"""`times` of a rule that fires without end."""


class Where(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For whom a rule is; what is left out is everybody."""

    device: int | None = None
    """Index of the device."""
    pid: int | None = None
    """Process of the client or of the program."""
    process: str = ""
    """Glob of the name of the process."""
    ring: str = ""
    """Glob of the ring: `control`, `work3`."""
    opcode: str = ""
    """Glob of the name of the command."""
    address: str = ""
    """`0x1000`, or a range `0x1000-0x1fff` (both ends belong to it) or `0x1000+0x1000`: what
    the site is about has to touch it."""
    object: int | None = None
    """Number of the memory object, export or queue."""
    call: str = ""
    """Glob of the API function that is being carried out."""
    thread: int | None = None
    """Number of the program's thread, as the system has it."""
    level: int | None = None
    """Level of a page table."""
    driver: int | None = None
    """Of the drivers in processes of their own that follow rules: the how-many-th of its name, from
    1; 0: those in the emulator."""


class When(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which of the sites that a rule selects it fires at; by default at every one.

    The order is that of Linux's fault injection: space, interval, probability, times.
    """

    probability: float = 1.0
    """Chance of each site, drawn from the seed, the rule's name and the number of the site."""
    interval: int = 1
    """Only every so-many-th site."""
    times: int = FOREVER
    """How often it fires at most; -1: without end."""
    space: int = 0
    """Bytes that pass first, counted by the sizes of the sites (a site without one counts 1)."""
    nth: int = 0
    """The one site, counted from 1, at which it fires; 0: any."""
    after_seconds: float = 0.0
    """Not before so long after the rule was added."""
    before_seconds: float = 0.0
    """Not later than so long after the rule was added; 0: always."""
    after_rule: str = ""
    """Not before the rule of this name has fired."""
    before_rule: str = ""
    """Not once the rule of this name has fired."""
    sticky: bool = False
    """Once it has fired it fires at every site that it selects."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule; `check` says whether it can be carried out."""

    point: str
    """Glob of points."""
    action: Action
    where: Where = Where()
    when: When = When()
    name: str = ""
    """How hits, other rules and `remove` call it; an injector numbers those without one."""

    @property
    def points(self) -> tuple[Point, ...]:
        """The points that it selects.

        Raises:
            RuleError: none.
        """
        return matching(self.point)

    def check(self) -> None:
        """Say whether the rule can be carried out.

        Raises:
            RuleError: it selects no point; a point does not take its action, or does not know
                what it selects by; a number is out of range.
        """
        given = selected(self.where)
        for point in self.points:
            if type(self.action) not in point.actions:
                words = ", ".join(sorted(action.WORD for action in point.actions))
                raise RuleError(
                    f"{point.name} does not take {self.action.WORD!r}; it takes {words}"
                )
            unknown = [name for name in given if name not in point.selectors]
            if unknown:
                known = ", ".join(point.selectors) or "nothing"
                raise RuleError(f"{point.name} cannot be selected by {unknown[0]!r}; by {known}")
            _check_field(point, self.action)
        check_names(self.action)
        check_numbers(self.action)
        address_range(self.where.address)
        _check_when(self.when)

    def selects(self, site: Site) -> bool:
        """Return whether the rule is for a site of one of its points."""
        where = self.where
        return (
            _same(where.device, site.device)
            and _same(where.pid, site.pid)
            and _same(where.object, site.object)
            and _same(where.thread, site.thread)
            and _same(where.level, site.level)
            and _same(where.driver, site.driver)
            and _like(where.process, site.process)
            and _like(where.ring, site.ring)
            and _like(where.opcode, site.opcode)
            and _like(where.call, site.call)
            and (not where.address or _touches(address_range(where.address), site))
        )


def selected(where: Where) -> tuple[str, ...]:
    """Return the names of the fields by which something is selected."""
    everybody = Where()
    return tuple(
        name for name in Where.__struct_fields__ if getattr(where, name) != getattr(everybody, name)
    )


def address_range(text: str) -> range:
    """Return the addresses of `0x1000`, `0x1000-0x1fff` or `0x1000+0x1000`; none for nothing.

    Raises:
        RuleError: it is none of these.
    """
    if not text:
        return range(0)
    try:
        if "+" in text:
            start, size = (int(part, 0) for part in text.split("+"))
            found = range(start, start + size)
        elif "-" in text:
            start, last = (int(part, 0) for part in text.split("-"))
            found = range(start, last + 1)
        else:
            found = range(int(text, 0), int(text, 0) + 1)
    except ValueError:
        found = range(0)
    if not found or found.start < 0:
        raise RuleError(f"{text!r} is no address: expected 0x1000, 0x1000-0x1fff or 0x1000+0x1000")
    return found


def _check_field(point: Point, action: Action) -> None:
    if not isinstance(action, Flip | Set) or not point.fields:
        return
    if isinstance(action, Flip) and not action.field:
        # Of the whole record.
        return
    if action.field not in point.fields:
        known = ", ".join(repr(field) for field in point.fields)
        raise RuleError(f"{point.name} has no field {action.field!r}; it has {known}")


_ENDLESS: Final = 1 << 63


def _check_when(when: When) -> None:
    if not 0.0 <= when.probability <= 1.0:
        raise RuleError(f"probability {when.probability:g}, expected 0 to 1")
    if when.interval < 1:
        raise RuleError(f"interval {when.interval}, expected 1 or more")
    if when.times < FOREVER or when.times == 0:
        raise RuleError(f"times {when.times}, expected 1 or more, or -1 for no end")
    for name, number in (
        ("nth", when.nth),
        ("space", when.space),
        ("after_seconds", when.after_seconds),
        ("before_seconds", when.before_seconds),
    ):
        if not 0 <= number < _ENDLESS:
            raise RuleError(f"{name} {number}, expected 0 or more, and less than 2**63")


def _same(wanted: int | None, found: int) -> bool:
    return wanted is None or wanted == found


def _like(glob: str, found: str) -> bool:
    return not glob or fnmatchcase(found, glob)


def _touches(wanted: range, site: Site) -> bool:
    if site.address < 0:
        return False
    end = site.address + max(1, site.size)
    return site.address < wanted.stop and wanted.start < end
