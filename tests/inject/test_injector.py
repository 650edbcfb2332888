"""The injector: when rules fire, in which order, and what is counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware.inject import Hit, Injector, RuleError, Site, parse_rule
from firmware.inject.actions import Delay, Drop

BELL = "link.doorbell"
NOBODY = Site()


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def injector(*lines: str, seed: int = 0, clock: Clock | None = None) -> Injector:
    made = Injector(clock or Clock(), seed)
    for line in lines:
        made.add(parse_rule(line))
    return made


def firings(made: Injector, count: int, site: Site = NOBODY, point: str = BELL) -> list[int]:
    """Return at which of `count` sites, from 1, anything fired."""
    return [number for number in range(1, count + 1) if made.ask(point, site) is not None]


@pytest.mark.parametrize(
    ("words", "fired"),
    [
        ("", [1, 2, 3, 4, 5, 6]),
        ("times=2", [1, 2]),
        ("nth=3", [3]),
        ("interval=2", [2, 4, 6]),
        ("interval=2 times=1", [2]),
        ("space=2", [3, 4, 5, 6]),
        ("probability=0", []),
        ("nth=4 sticky", [4, 5, 6]),
    ],
)
def test_triggers_choose_the_sites(words: str, fired: list[int]) -> None:
    assert firings(injector(f"{BELL} drop {words}"), 6) == fired


def test_space_is_counted_in_the_bytes_of_the_sites() -> None:
    made = injector("memory.allocate fail space=10K")
    assert firings(made, 5, Site(size=4096), "memory.allocate") == [3, 4, 5]


def test_a_rule_is_there_only_between_its_times() -> None:
    clock = Clock()
    made = injector(f"{BELL} drop after_seconds=1 before_seconds=2", clock=clock)
    assert made.ask(BELL, Site()) is None
    clock.now += 1.5
    assert made.ask(BELL, Site()) is not None
    clock.now += 1.0
    assert made.ask(BELL, Site()) is None


def test_a_rule_waits_for_another_or_ends_with_it() -> None:
    made = injector(
        f"{BELL} drop nth=3 name=first",
        "link.interrupt drop after_rule=first",
        "link.tail stale before_rule=first",
    )
    assert made.ask("link.interrupt", Site()) is None
    assert made.ask("link.tail", Site()) is not None
    assert firings(made, 3) == [3]
    assert made.ask("link.interrupt", Site()) is not None
    assert made.ask("link.tail", Site()) is None


@pytest.mark.parametrize(
    ("words", "site", "fires"),
    [
        ("pid=7", Site(pid=7), True),
        ("pid=7", Site(pid=8), False),
        ("ring=work*", Site(ring="work3"), True),
        ("ring=work*", Site(ring="control"), False),
        ("device=0", Site(device=0), True),
        ("device=0", Site(), False),
        ("process=worker*", Site(process="worker-2"), True),
    ],
)
def test_selectors_choose_for_whom(words: str, site: Site, *, fires: bool) -> None:
    assert (injector(f"{BELL} drop {words}").ask(BELL, site) is not None) == fires


@pytest.mark.parametrize(
    ("text", "address", "size", "fires"),
    [
        ("0x1000", 0x1000, 0, True),
        ("0x1000", 0xFFF, 1, False),
        ("0x1000", 0xFFF, 2, True),
        ("0x1000-0x1fff", 0x1FFF, 1, True),
        ("0x1000-0x1fff", 0x2000, 1, False),
        ("0x1000+0x10", 0x1010, 1, False),
        ("0x1000+0x10", 0, 1 << 40, True),
        ("0x1000+0x10", -1, 0, False),
    ],
)
def test_an_address_selects_what_touches_it(
    text: str, address: int, size: int, *, fires: bool
) -> None:
    made = injector(f"memory.access retire address={text}")
    hit = made.ask("memory.access", Site(address=address, size=size))
    assert (hit is not None) == fires


def test_the_first_rule_that_fires_decides_and_the_others_count() -> None:
    made = injector(f"{BELL} drop nth=2 name=one", f"{BELL} delay=1 interval=2 name=two")
    assert made.ask(BELL, Site()) is None
    hit = made.ask(BELL, Site())
    assert hit is not None
    assert (hit.rule, hit.action) == ("one", Drop())
    assert [(rule.seen, rule.fired) for rule in made.rules()] == [(2, 1), (2, 0)]
    assert made.ask(BELL, Site()) is None
    later = made.ask(BELL, Site())
    assert later is not None
    assert later.action == Delay(seconds=1.0)


@given(st.integers(0, 1 << 64), st.integers(1, 200))
def test_the_same_seed_gives_the_same_hits(seed: int, count: int) -> None:
    line = f"{BELL} drop probability=0.5 name=half"
    one, two = injector(line, seed=seed), injector(line, seed=seed)
    assert firings(one, count) == firings(two, count)
    assert one.hits() == two.hits()


def test_another_seed_gives_other_hits_and_the_chance_is_as_said() -> None:
    line = f"{BELL} drop probability=0.25 name=quarter"
    one, two = firings(injector(line, seed=1), 4000), firings(injector(line, seed=2), 4000)
    assert one != two
    assert 850 < len(one) < 1150


def test_a_removed_rule_fires_no_more_and_its_count_is_told() -> None:
    made = injector(f"{BELL} drop name=all")
    assert firings(made, 3) == [1, 2, 3]
    assert made.remove("all").fired == 3
    assert firings(made, 3) == []
    with pytest.raises(RuleError, match="no rule is called 'all'; there are: none"):
        made.remove("all")


def test_a_name_that_is_taken_changes_nothing() -> None:
    made = injector(f"{BELL} drop name=all")
    with pytest.raises(RuleError, match=r"a rule called 'all' already: link.doorbell drop"):
        made.add(parse_rule("link.interrupt drop name=all"))
    assert len(made.rules()) == 1


def test_rules_without_a_name_are_numbered() -> None:
    made = injector(f"{BELL} drop", f"{BELL} drop name=rule2", f"{BELL} drop")
    assert [rule.name for rule in made.rules()] == ["rule1", "rule2", "rule3"]


def test_coverage_tells_reached_armed_fired_recovered_and_never_reached() -> None:
    made = injector(f"{BELL} drop nth=2", "mmu.walk fail_walk nth=1")
    firings(made, 5)
    found = {point.point: point for point in made.coverage().points}
    assert found[BELL] == (BELL, 5, 1, 1, 1)
    assert found["mmu.walk"] == ("mmu.walk", 0, 1, 0, 0)
    assert "mmu.walk" in made.coverage().never_reached
    assert BELL not in made.coverage().never_reached


def test_coverages_of_processes_add_up() -> None:
    one, two = injector(f"{BELL} drop nth=2"), injector()
    firings(one, 5)
    firings(two, 4)
    joined = {point.point: point for point in one.coverage().joined(two.coverage()).points}
    assert joined[BELL] == (BELL, 9, 1, 1, 1)


def test_only_points_that_a_rule_selects_are_wanted_unless_all_are_counted() -> None:
    made = injector(f"{BELL} drop")
    assert made.wants([BELL, "mmu.walk"])
    assert not made.wants(["mmu.walk"])
    made.counts_all = True
    assert made.wants(["mmu.walk"])
    made.counts_all = False
    made.clear()
    assert not made.wants([BELL])


def test_hits_are_told_as_they_happen() -> None:
    made = injector(f"{BELL} drop nth=2 name=second")
    told: list[Hit] = []
    made.on_hit = told.append
    firings(made, 3, Site(pid=7))
    assert [(hit.number, hit.rule, hit.point, hit.occurrence, hit.site.pid) for hit in told] == [
        (1, "second", BELL, 2, 7)
    ]
