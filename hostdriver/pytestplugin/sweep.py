"""`emuzero_fail_nth`: a test again and again, each time with another site failing.

The test itself is the first run, in which the sites of the chosen points are counted. Then it
runs once for each site, as an item of its own, with fixtures of its own; the rule is there while
the test is called, neither before nor after.
"""

from __future__ import annotations

import shlex
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, final

import msgspec
import pytest

from firmware.inject import Rule, RuleError, line_of, matching, parse_rule
from firmware.link.errors import LinkError
from hostdriver.inject.remote import Faults
from hostdriver.pytestplugin.evidence import Section
from hostdriver.pytestplugin.injection import NAME
from hostdriver.pytestplugin.outcome import FAIL_NTH, PART

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from hostdriver.inject.messages import RuleRow
    from hostdriver.pytestplugin.evidence import Evidence

NEVER: Final = 1 << 40
"""`nth` of a rule that only counts."""
MOST_SITES: Final = 100
"""Sites of one test, where the marker does not say `at_most`."""


@final
class Fault:
    """What fails in this run: `emuzero_fault` of a test."""

    def __init__(self, rule: Rule, nth: int) -> None:
        self.point = rule.point
        """Name of the point."""
        self.nth = nth
        """The how-many-th time, counted from 1 while the test is called."""
        self.rule = msgspec.structs.replace(
            rule, when=msgspec.structs.replace(rule.when, nth=nth), name=rule.name or "site"
        )
        self.line = line_of(self.rule)
        """The rule as text."""
        self.faults: Faults | None = None
        self._last: list[RuleRow] = []

    @property
    def label(self) -> str:
        """How the run is called, and `--emuzero-site` chooses it."""
        return f"{self.point}#{self.nth}"

    @property
    def fired(self) -> bool:
        """Whether it has happened."""
        return any(row.fired for row in self._rows())

    @property
    def seen(self) -> int:
        """How often the point was reached so far."""
        return sum(row.seen for row in self._rows())

    def freeze(self) -> None:
        """Keep what became of it, as the rule goes; nothing when the emulator is gone."""
        with suppress(LinkError, OSError):
            self._last = self._rows()
        self.faults = None

    def sections(self, nodeid: str) -> Iterator[Section]:
        """Yield what the report of a run tells of it."""
        happened = "it happened" if self.fired else "it did not happen"
        again = shlex.join(["pytest", nodeid, f"--emuzero-site={self.label}"])
        yield Section("fault", f"{self.line}: {happened}\nthis run again: {again}")

    def _rows(self) -> list[RuleRow]:
        if self.faults is None:
            return self._last
        return [row for row in self.faults.rules().rules if row.name == self.rule.name]


@final
class Counting:
    """The first run: counts sites."""

    def __init__(self, marker: pytest.Mark) -> None:
        self._marker = marker
        self.fault: Fault | None = None
        self.found: list[Fault] = []
        """The sites that it has found."""
        self.reason = "the test fails without a fault"
        """Why there is none."""
        self.was_counted = False

    def prepare(self) -> None:
        """Let the run begin."""

    @contextmanager
    def running(self, evidence: Evidence, seed: int) -> Generator[None]:
        """Count sites while the test is called.

        Raises:
            pytest.UsageError: the marker chooses nothing that can be done, or too much.
        """
        rules = rules_of(self._marker)
        with Faults(evidence.emulator.socket, name=NAME) as faults:
            names = faults.add(*(_counting(rule) for rule in rules), seed=seed)
            yield
            seen = {row.name: row.seen for row in faults.rules().rules}
        counts = [(rule, seen.get(name, 0)) for rule, name in zip(rules, names, strict=True)]
        self._find(counts)
        self.was_counted = True

    def _find(self, counts: Sequence[tuple[Rule, int]]) -> None:
        total = sum(count for _, count in counts)
        most = int(self._marker.kwargs.get("at_most", MOST_SITES))
        if total > most:
            told = ", ".join(f"{rule.point} {count}" for rule, count in counts if count)
            raise pytest.UsageError(
                f"emuzero_fail_nth: {total} sites ({told}), at most {most}: choose fewer points, or"
                f" say at_most={total}"
            )
        self.found = [Fault(rule, nth) for rule, count in counts for nth in range(1, count + 1)]
        self.reason = f"the test reaches none of {', '.join(map(str, self._marker.args))}"


@final
class Failing:
    """A run in which one site fails."""

    def __init__(self, fault: Fault, nodeid: str) -> None:
        self.fault = fault
        self._nodeid = nodeid

    def prepare(self) -> None:
        """Let the run begin."""

    @contextmanager
    def running(self, evidence: Evidence, seed: int) -> Generator[None]:
        """Have the site fail while the test is called; skip a test that does not come to it."""
        evidence.add(lambda: self.fault.sections(self._nodeid))
        with Faults(evidence.emulator.socket, name=NAME) as faults:
            self.fault.faults = faults
            faults.add(self.fault.rule, seed=seed)
            try:
                yield
            finally:
                self.fault.freeze()
        if not self.fault.fired:
            seen = self.fault.seen
            pytest.skip(f"{self.fault.label}: this time it was reached {seen} times only")


@final
class Nothing:
    """A run that is none: says why there are no sites."""

    def __init__(self, reason: str, *, is_wrong: bool) -> None:
        self.fault: Fault | None = None
        self._reason = reason
        self._is_wrong = is_wrong

    @contextmanager
    def running(self, evidence: Evidence, seed: int) -> Generator[None]:  # noqa: ARG002
        """Do nothing: it is never run."""
        yield

    def prepare(self) -> None:
        """Skip the run, or fail it."""
        if self._is_wrong:
            pytest.fail(self._reason, pytrace=False)
        pytest.skip(self._reason)


def sweep(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Run a marked test, and once more for each of its sites."""
    marker = item.get_closest_marker(FAIL_NTH)
    if marker is None or not isinstance(item, pytest.Function):
        raise pytest.UsageError(f"{item.nodeid}: {FAIL_NTH} is for functions and methods")
    # What runs a test may put something else in its place.
    function: object = item.obj
    counting = item.stash[PART] = Counting(marker)
    # Who comes next decides which fixtures stay: those of the same module and class do.
    item.ihook.pytest_runtest_protocol(item=item, nextitem=_again(item, function, "none"))
    glob = item.config.getoption("emuzero_site")
    parts: list[tuple[str, Failing | Nothing]] = [
        (fault.label, Failing(fault, item.nodeid))
        for fault in counting.found
        if not glob or fnmatchcase(fault.label, glob)
    ]
    if not parts:
        reason = f"no site is like {glob!r}" if counting.found else counting.reason
        parts = [("no site", Nothing(reason, is_wrong=counting.was_counted))]
    runs = [(_again(item, function, label), part) for label, part in parts]
    followers = [*(run for run, _ in runs[1:]), nextitem]
    for (run, part), follower in zip(runs, followers, strict=True):
        run.stash[PART] = part
        with _in_place_of(item, run):
            run.ihook.pytest_runtest_protocol(item=run, nextitem=follower)


def rules_of(marker: pytest.Mark) -> list[Rule]:
    """Return a rule for each point that a marker chooses: by globs, or by rules as text.

    Raises:
        pytest.UsageError: it chooses none, or one of its rules cannot be carried out.
    """
    unknown = sorted(set(marker.kwargs) - {"at_most"})
    if unknown or not marker.args:
        raise pytest.UsageError(f"{FAIL_NTH} takes points or rules, and at_most: {marker}")
    found: list[Rule] = []
    for chosen in map(str, marker.args):
        try:
            if len(chosen.split()) == 1:
                found += [Rule(point.name, point.default) for point in matching(chosen)]
            else:
                rule = parse_rule(chosen)
                found += [
                    msgspec.structs.replace(rule, point=point.name, name="")
                    for point in rule.points
                ]
        except RuleError as error:
            raise pytest.UsageError(f"{FAIL_NTH}: {error}") from None
    return found


def _counting(rule: Rule) -> Rule:
    """Return a rule that is for the same sites and never fires."""
    when = msgspec.structs.replace(rule.when, nth=NEVER)
    return msgspec.structs.replace(rule, when=when)


def _again(item: pytest.Function, function: object, label: str) -> pytest.Function:
    """Return the same test once more, as an item of its own."""
    callspec = getattr(item, "callspec", None)
    name = f"{item.originalname}[{label}]"
    if item.parent is None:
        raise RuntimeError(f"{item.nodeid} is in no module")
    # pytest says nothing of the types of its arguments.
    run: pytest.Function = pytest.Function.from_parent(  # pyright: ignore[reportUnknownMemberType]
        item.parent,
        name=f"{name}[{callspec.id}]" if callspec is not None else name,
        originalname=name,
        callobj=function,
        # With it the parameters that the test is called with are found.
        fixtureinfo=item._fixtureinfo,  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        **({} if callspec is None else {"callspec": callspec}),
    )
    # Plugins may have marked the test after it was collected.
    run.own_markers[:] = item.own_markers
    run.keywords.update({marker.name: marker for marker in item.own_markers})
    return run


@contextmanager
def _in_place_of(item: pytest.Item, run: pytest.Item) -> Generator[None]:
    """Let workers of xdist take the reports of a run for those of a test that they know."""
    items = item.session.items
    at = items.index(item)
    items[at] = run
    try:
        yield
    finally:
        items[at] = item
