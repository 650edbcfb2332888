"""Rules over an emulator's socket: added, listed, removed, and gone with who holds them."""

from __future__ import annotations

import os
import signal
import socket as sockets
from typing import TYPE_CHECKING

import pytest

from firmware.inject import Rule, RuleError, When
from firmware.inject.actions import Reset
from firmware.link.client import open_talk
from firmware.link.errors import AttachError, LinkError
from firmware.link.lines import LONGEST_LINE, Lines
from hostdriver import levelzero as ze
from hostdriver.inject.messages import Rules, encode
from hostdriver.inject.remote import Faults
from tests.harness.children import child, say
from tests.harness.emulator_process import emulator_process

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.harness.emulator_process import EmulatorProcess

LOSES = "device.round lost times=1"


@pytest.fixture(name="faults")
def make_faults(emulator: EmulatorProcess) -> Generator[Faults]:
    with Faults(emulator.path) as faults:
        faults.clear(forget=True)
        yield faults


def work(emulator: EmulatorProcess) -> None:
    """Have the device do something for a client."""
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        context.mem_free(context.mem_alloc_device(driver.devices[0], 4096))


def exchange(lines: Lines, line: bytes) -> bytes | None:
    """Say a line, and hear one."""
    lines.push(line)
    return lines.pull()


def flood(connection: sockets.socket, packet: bytes) -> None:
    """Send until nothing is taken any more."""
    while True:
        connection.send(packet)


def lines_of(faults: Faults) -> list[str]:
    return [row.line for row in faults.rules().rules]


def test_rules_are_taken_as_text_words_and_objects_and_told_as_text(faults: Faults) -> None:
    added = faults.add(
        "link.doorbell drop interval=1000000",
        {"point": "mmu.walk", "action": "fail_walk", "nth": 1_000_000, "name": "walk"},
        Rule("device.round", Reset(), when=When(nth=1_000_000)),
        seed=7,
    )

    assert added == (added[0], "walk", added[2])
    assert added[0] != added[2]
    assert faults.rules().seed == 7
    assert lines_of(faults) == [
        "link.doorbell drop interval=0xf4240",
        "mmu.walk fail_walk nth=0xf4240 name=walk",
        "device.round reset nth=0xf4240",
    ]


def test_a_rule_fires_in_the_device_and_its_hit_tells_where(
    faults: Faults, emulator: EmulatorProcess
) -> None:
    (name,) = faults.add(LOSES)
    with pytest.raises(ze.ZeError):
        work(emulator)

    (hit,) = faults.hits()
    (row,) = faults.remove(name)
    assert (hit.number, hit.rule, hit.point, hit.action) == (1, name, "device.round", "lost")
    assert (hit.by, hit.site) == (emulator.pid, {"device": 0})
    assert row.fired == 1
    work(emulator)


def test_coverage_tells_what_was_reached_armed_fired_and_never_reached(
    faults: Faults, emulator: EmulatorProcess
) -> None:
    faults.add("device.round reset nth=1000000")
    work(emulator)
    coverage = {point.point: point for point in faults.coverage().points}

    assert coverage["device.round"].reached > 0
    assert (coverage["device.round"].armed, coverage["device.round"].fired) == (1, 0)
    assert "api.zeInit" in faults.coverage().never_reached


def test_points_are_counted_without_a_rule_while_counting_is_on(
    faults: Faults, emulator: EmulatorProcess
) -> None:
    faults.count()
    work(emulator)
    faults.count(on=False)
    counted = {point.point: point.reached for point in faults.coverage().points}
    work(emulator)

    assert counted["device.round"] > 0
    assert {point.point: point.reached for point in faults.coverage().points} == counted


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        (["nowhere.at.all drop"], "no point is called 'nowhere.at.all'"),
        (["device.round drop"], "drop"),
        (["device.round reset name=a", "device.round reset name=a"], "called 'a' already"),
        (["device.round reset name=a", "device.round fly"], "rule 2: no action is called 'fly'"),
    ],
    ids=["point", "action", "name", "second"],
)
def test_a_rule_that_is_wrong_is_refused_and_none_of_its_request_is_added(
    faults: Faults, rules: list[str], told: str
) -> None:
    with pytest.raises(RuleError, match=told):
        faults.add(*rules)

    assert lines_of(faults) == []


def test_removing_what_is_not_there_says_what_there_is(faults: Faults) -> None:
    faults.add("mmu.walk fail_walk nth=9999 name=walk")

    with pytest.raises(RuleError, match="no rule is called 'wlak'; there are: walk"):
        faults.remove("walk", "wlak")
    assert len(lines_of(faults)) == 1


def test_rules_go_with_the_talk_that_added_them_unless_they_are_to_stay(
    faults: Faults, emulator: EmulatorProcess
) -> None:
    with Faults(emulator.path) as other:
        other.add("mmu.walk fail_walk nth=9999")
        other.add("link.doorbell drop nth=9999", stay=True)
        assert [row.held for row in faults.rules().rules] == [True, False]

    assert lines_of(faults) == ["link.doorbell drop nth=0x270f"]


def test_rules_of_a_block_are_gone_behind_it_even_if_somebody_removed_them(faults: Faults) -> None:
    with faults.injected("mmu.walk fail_walk nth=9999", "link.doorbell drop nth=9999") as names:
        faults.remove(names[0])
        assert len(lines_of(faults)) == 1

    assert lines_of(faults) == []


def hold(path: str) -> None:
    """Hold a rule, also in a child that never ends by itself, until killed."""
    faults = Faults(path)
    faults.add("mmu.walk fail_walk nth=9999")
    if (forked := os.fork()) == 0:
        signal.pause()
    say(forked)
    signal.pause()


def test_rules_of_a_killed_process_go_though_its_child_has_the_socket(
    faults: Faults, emulator: EmulatorProcess
) -> None:
    with child("tests.inject.test_remote", "hold", emulator.path) as holder:
        forked = int(holder.hear())
        try:
            assert len(lines_of(faults)) == 1
            holder.kill()
            while lines_of(faults):
                pass
        finally:
            os.kill(forked, signal.SIGKILL)


def test_hits_are_followed_as_they_come(faults: Faults, emulator: EmulatorProcess) -> None:
    follow = faults.follow(rule="later", patience_seconds=60)
    faults.add(f"{LOSES} name=later")
    with pytest.raises(ze.ZeError):
        work(emulator)

    assert next(follow).rule == "later"
    follow.close()


def test_many_hits_come_in_parts_and_are_filtered(
    faults: Faults, emulator: EmulatorProcess
) -> None:
    faults.add("mmu.entry flip name=none nth=9999", "device.round lost name=all")
    with pytest.raises(ze.ZeError):
        work(emulator)
    hits = faults.hits()

    assert [hit.number for hit in hits] == list(range(1, len(hits) + 1))
    assert faults.hits(rule="none") == ()
    assert faults.hits(point="device.*", after=1) == hits[1:]


@pytest.mark.parametrize(
    "said",
    [b"\n", b"\xff\xfe\n", b"{}\n", b'{"do":"fly"}\n', b"[" * 100_000 + b"\n", b'{"do":"add"}\n'],
    ids=["nothing", "bytes", "no request", "unknown", "deep", "incomplete"],
)
def test_nonsense_is_answered_and_the_talk_goes_on(emulator: EmulatorProcess, said: bytes) -> None:
    with open_talk(emulator.path, "hostile") as connection:
        lines = Lines(connection, waits=True)
        lines.push(said.rstrip(b"\n"))
        lines.push(encode(Rules()))

        assert b'"is":"refused"' in (lines.pull() or b"")
        assert b'"is":"rules"' in (lines.pull() or b"")


def test_a_line_without_end_ends_the_talk_alone(emulator: EmulatorProcess, faults: Faults) -> None:
    with open_talk(emulator.path, "hostile") as connection:
        lines = Lines(connection, waits=True)
        with pytest.raises(LinkError):
            exchange(lines, b"x" * (3 * LONGEST_LINE))
    assert lines_of(faults) == []


def test_one_who_reads_no_answers_holds_up_nobody(
    emulator: EmulatorProcess, faults: Faults
) -> None:
    faults.add(*["api.* refuse nth=9999"] * 400)
    with open_talk(emulator.path, "slow") as slow:
        slow.setblocking(False)
        with pytest.raises(BlockingIOError):
            flood(slow, encode(Rules()) + b"\n")
        work(emulator)
        assert len(lines_of(faults)) == 400
        slow.setblocking(True)
        assert b'"is":"rules"' in (Lines(slow, waits=True).pull() or b"")


def test_what_a_talk_held_does_nothing_any_more_once_it_is_closed(
    emulator: EmulatorProcess,
) -> None:
    for _ in range(20):
        with Faults(emulator.path) as faults:
            faults.add(LOSES)
        work(emulator)


def test_nothing_is_left_of_those_who_have_left(tmp_path: Path) -> None:
    with emulator_process(tmp_path) as emulator:
        work(emulator)
        before = emulator.audit()
        for _ in range(5):
            with Faults(emulator.path) as faults:
                faults.add("mmu.walk fail_walk nth=9999")
            open_talk(emulator.path, "silent").close()

        assert emulator.audit() == before


def test_without_an_emulator_there_is_nobody_to_talk_to(tmp_path: Path) -> None:
    with pytest.raises(AttachError, match="no emulator answers"):
        Faults(tmp_path / "nobody")


def test_a_socket_that_says_nothing_is_no_talk(tmp_path: Path) -> None:
    path = tmp_path / "mute"
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_SEQPACKET) as mute:
        mute.bind(str(path))
        mute.listen()
        with pytest.raises(AttachError, match="no answer"):
            open_talk(path, "patient", patience_seconds=0.05)


def test_a_seed_of_more_than_64_bits_is_refused_and_changes_nothing(faults: Faults) -> None:
    faults.seed(5)

    with pytest.raises(RuleError, match="64 bits"):
        faults.seed(1 << 64)
    with pytest.raises(RuleError, match="64 bits"):
        faults.add(LOSES, seed=1 << 64)

    assert (faults.rules().seed, lines_of(faults)) == (5, [])


if __name__ == "__main__":
    import sys

    globals()[sys.argv[1]](*sys.argv[2:])
