"""Rules as text and tables: what is written comes back, what is wrong is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware.inject import (
    Rule,
    RuleError,
    When,
    Where,
    line_of,
    parse_rule,
    points,
    rule_of,
    words_of,
)
from firmware.inject.actions import ACTIONS, Delay, Drop, Errno, Flip, Refuse, Set

if TYPE_CHECKING:
    from firmware.inject.point import Point
    from firmware.inject.words import Scalar


def test_a_line_has_point_action_selectors_and_triggers() -> None:
    rule = parse_rule("os.driver.map errno=ENOMEM call=zeMem* nth=3 name=third")
    assert rule == Rule(
        "os.driver.map", Errno(error="ENOMEM"), Where(call="zeMem*"), When(nth=3), "third"
    )


def test_numbers_may_be_hexadecimal_or_have_units_and_switches_need_no_value() -> None:
    rule = parse_rule("command.work set=size_bytes value=0x10 space=64K sticky")
    assert rule == Rule(
        "command.work", Set(field="size_bytes", value=16), when=When(space=65536, sticky=True)
    )


def test_a_table_from_a_file_is_the_same_rule() -> None:
    words: dict[str, Scalar] = {
        "point": "link.doorbell",
        "action": "delay",
        "seconds": 2,
        "interval": 1000,
    }
    assert rule_of(words) == parse_rule("link.doorbell delay=2 interval=1000")
    assert rule_of(words).action == Delay(seconds=2.0)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("link.doorbell", "POINT ACTION"),
        ("link.doorbel drop", "no point is called 'link.doorbel'"),
        ("link.doorbell explode", "no action is called 'explode'"),
        ("link.doorbell flip", "does not take 'flip'; it takes delay, drop, repeat"),
        ("link.doorbell drop nth=two", "nth=two: expected a whole number"),
        ("link.doorbell drop probability=2", "probability 2, expected 0 to 1"),
        ("link.doorbell drop probability=nan", "expected a number"),
        ("link.doorbell drop interval=0", "interval 0, expected 1 or more"),
        ("link.doorbell drop times=0", "times 0, expected 1 or more"),
        ("link.doorbell drop nth=-1", "nth -1, expected 0 or more"),
        ("link.doorbell drop address=0x1000", "cannot be selected by 'address'"),
        ("link.doorbell drop color=red", "has 'color'"),
        ("link.doorbell drop nth=1 nth=2", "'nth' is there twice"),
        ("link.doorbell drop=3", "the action 'drop' takes no value"),
        ("link.doorbell 'drop", "No closing quotation"),
        ("memory.access retire address=12-", "'12-' is no address"),
        ("os.driver.map errno=EWHAT", "no error of the system is called 'EWHAT'"),
        (
            "api.zeMemFree refuse=ZE_RESULT_ERROR_DEVICE_GONE",
            "(did you mean ZE_RESULT_ERROR_DEVICE_LOST?); there are ZE_RESULT_ERROR_",
        ),
        ("api.zeMemFree fail_late=LOST", "no result is called 'LOST'; there are ZE_RESULT_"),
        (
            "peer.handle set=vendor",
            "peer.handle has no field 'vendor'; it has 'descriptor', 'magic', 'emulator_id',",
        ),
        ("peer.handle flip field=vendor", "peer.handle has no field 'vendor'; it has "),
        ("peer.handle set=", "peer.handle has no field ''; it has 'descriptor'"),
        ("command.work set", "missing required field `field`"),
        ("* drop", "does not take 'drop'"),
        ("link.doorbell drop 'name=a\tb'", r"name='a\tb': expected text that can be printed"),
        ("link.doorbell drop process=\udcff", r"process='\udcff': expected text"),
        ("link.doorbell drop nth=0x8000000000000000", "less than 2**63"),
        ("link.doorbell delay=-1", "seconds -1, expected 0 to 1e+09"),
        ("link.doorbell delay=inf", "seconds inf, expected 0 to 1e+09"),
        ("link.interrupt spurious=1000000000", "count 1e+09, expected 0 to 10000"),
        ("link.interrupt spurious every=1e-9", "every 1e-09, expected 0.001 seconds or more"),
        ("memory.access retire nth=1e3", "nth=1e3: expected a whole number"),
        ("command.work bad_length=-1", "size -1, expected 0 to 0xffffffffffffffff"),
        ("mmu.entry flip=0", "bits 0, expected 1 to 512"),
    ],
)
def test_what_cannot_be_carried_out_is_told(line: str, told: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_rule(line)
    assert told in str(caught.value)


def _actions_of(point: Point) -> st.SearchStrategy[Rule]:
    made = [Set(field=point.fields[0]) if kind is Set else kind() for kind in point.actions]
    where = st.builds(
        Where,
        **{
            name: st.integers(0, 1 << 40) if name in {"device", "pid", "thread"} else st.just("a*")
            for name in ("device", "pid", "process", "thread")
            if name in point.selectors
        },
    )
    when = st.builds(
        When,
        probability=st.floats(0, 1),
        interval=st.integers(1, 1 << 40),
        times=st.integers(1, 9) | st.just(-1),
        space=st.integers(0, 1 << 60),
        nth=st.integers(0, 5),
        sticky=st.booleans(),
    )
    return st.builds(
        Rule, st.just(point.name), st.sampled_from(made), where, when, st.sampled_from(["", "a b"])
    )


@given(st.sampled_from(list(points().values())).flatmap(_actions_of))
def test_every_rule_comes_back_from_its_line_and_its_words(rule: Rule) -> None:
    assert parse_rule(line_of(rule)) == rule
    assert rule_of(words_of(rule)) == rule


def test_no_word_means_two_things() -> None:
    others = {*Where.__struct_fields__, *When.__struct_fields__, "point", "action", "name"}
    for word, kind in ACTIONS.items():
        assert not others.intersection(kind.__struct_fields__), word


def test_equal_rules_have_equal_lines() -> None:
    rule = Rule("api.zeMemFree", Refuse(result="ZE_RESULT_ERROR_DEVICE_LOST"))
    assert line_of(rule) == "api.zeMemFree refuse=ZE_RESULT_ERROR_DEVICE_LOST"
    assert line_of(Rule("mmu.entry", Flip(mask=1))) == "mmu.entry flip mask=1"
    assert line_of(Rule("link.doorbell", Drop())) == "link.doorbell drop"
