"""The catalogue: every point is complete, and a sweep knows what to do there."""

from __future__ import annotations

import pytest

from firmware.inject import Layer, Rule, RuleError, Site, matching, points
from firmware.inject.actions import Refuse
from firmware.inject.catalogue.api import results
from hostdriver.core.results import ZeResult


def test_every_layer_has_points_that_take_their_own_default() -> None:
    assert {point.layer for point in points().values()} == set(Layer)
    for point in points().values():
        Rule(point.name, point.default).check()
        assert point.name.startswith(f"{point.layer}.")
        assert point.text
        assert set(point.selectors) <= set(Site._fields)


def test_every_function_of_the_interface_has_a_point() -> None:
    names = {name.removeprefix("api.") for name in points() if name.startswith("api.")}
    assert {"zeInit", "zeMemAllocDevice", "zesDeviceEnumMemoryModules"} <= names
    assert len([name for name in names if not name.startswith("zes")]) == 257


def test_a_call_can_be_refused_with_every_result_that_the_driver_knows() -> None:
    assert set(results()) == set(ZeResult.__members__)
    for name in results():
        Rule("api.zeMemFree", Refuse(result=name)).check()


def test_a_glob_that_selects_nothing_says_where_to_look() -> None:
    with pytest.raises(RuleError, match="`emuzero faults list` shows all"):
        matching("nowhere.*")
