"""Cells: one run for each site, or a few spread over them."""

from __future__ import annotations

import pytest

from firmware.inject import Coverage, PointCoverage, Site, parse_rule, points
from hostdriver.cli.sweep.cells import default_rules, plan, spread
from hostdriver.inject.messages import DriverRow


def _coverage(**reached: int) -> Coverage:
    named = {name.replace("__", "."): count for name, count in reached.items()}
    return Coverage.of({name: PointCoverage(name, n, 0, 0, 0) for name, n in named.items()})


@pytest.mark.parametrize(
    ("count", "most", "sites"),
    [
        (0, 0, []),
        (3, 0, [1, 2, 3]),
        (3, 5, [1, 2, 3]),
        (10, 1, [1]),
        (10, 2, [1, 10]),
    ],
)
def test_sites_are_all_or_the_first_and_the_last(count: int, most: int, sites: list[int]) -> None:
    assert list(spread(count, most, 0, "p")) == sites


@pytest.mark.parametrize(("count", "most"), [(4, 3), (10, 4), (1000, 3), (1000, 12), (7, 6)])
def test_sites_between_are_drawn_by_the_seed_one_from_each_part(count: int, most: int) -> None:
    drawn = [list(spread(count, most, seed, "p")) for seed in range(400)]
    for sites in drawn:
        assert (sites[0], sites[-1], len(set(sites))) == (1, count, most)
        assert sites == sorted(sites)
    assert drawn == [list(spread(count, most, seed, "p")) for seed in range(400)]
    if count < 20:
        assert {site for sites in drawn for site in sites} == set(range(1, count + 1))


def test_each_site_of_each_point_of_a_rule_is_a_cell() -> None:
    rule = parse_rule("os.driver.* errno=EIO probability=0.5 call=zeMem*")
    cells = plan([rule], _coverage(os__driver__map=2, os__driver__reserve=1, mmu__walk=9))
    assert [cell.line for cell in cells] == [
        "os.driver.reserve errno=EIO 'call=zeMem*' nth=1",
        "os.driver.map errno=EIO 'call=zeMem*' nth=1",
        "os.driver.map errno=EIO 'call=zeMem*' nth=2",
    ]
    assert [(cell.point, cell.nth) for cell in cells[1:]] == [
        ("os.driver.map", 1),
        ("os.driver.map", 2),
    ]


def test_by_default_every_point_fails_as_it_fails_by_itself() -> None:
    assert {rule.point for rule in default_rules()} == set(points())
    for rule in default_rules():
        rule.check()


def test_each_process_that_counts_for_itself_has_cells_of_its_own() -> None:
    rule = parse_rule("os.driver.* errno=EIO")
    drivers = [
        DriverRow(process="importer", driver=1, points={"os.driver.map": 1}),
        DriverRow(process="importer", driver=2, points={"os.driver.map": 2}),
    ]
    cells = plan([rule], _coverage(os__driver__map=3, os__driver__dup=1), drivers)
    assert [cell.line for cell in cells] == [
        "os.driver.map errno=EIO driver=1 nth=1",
        "os.driver.map errno=EIO driver=2 nth=1",
        "os.driver.map errno=EIO driver=2 nth=2",
        "os.driver.dup errno=EIO nth=1",
    ]


def test_processes_of_several_names_are_selected_by_them_and_the_emulator_by_its_number() -> None:
    rule = parse_rule("os.driver.map errno=EIO call=zeMem*")
    drivers = [
        DriverRow(process="a[1].py", driver=1, points={"os.driver.map": 1}),
        DriverRow(process="b", driver=1, points={"os.driver.map": 1}),
    ]
    cells = plan([rule], _coverage(os__driver__map=3), drivers)
    assert [cell.line for cell in cells] == [
        "os.driver.map errno=EIO 'call=zeMem*' driver=0 nth=1",
        "os.driver.map errno=EIO 'process=a[[]1].py' 'call=zeMem*' driver=1 nth=1",
        "os.driver.map errno=EIO process=b 'call=zeMem*' driver=1 nth=1",
    ]
    first = parse_rule(cells[1].line)
    assert first.selects(Site(process="a[1].py", call="zeMemFree", driver=1))
    assert not first.selects(Site(process="a1.py", call="zeMemFree", driver=1))


def test_a_rule_that_selects_a_process_has_as_many_cells_as_the_process_with_most_sites() -> None:
    drivers = [
        DriverRow(process="a", driver=1, points={"os.driver.map": 1}),
        DriverRow(process="b", driver=1, points={"os.driver.map": 2}),
    ]
    cells = plan(
        [parse_rule("os.driver.map errno=EIO process=b")], _coverage(os__driver__map=3), drivers
    )
    assert [cell.nth for cell in cells] == [1, 2]
