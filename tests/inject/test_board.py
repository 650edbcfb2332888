"""Taps: wrappers are in exactly while a rule wants their points."""

from __future__ import annotations

from firmware.inject import Board, Injector, parse_rule


class FakeTap:
    """A tap that notes what is done to it."""

    def __init__(self, *points: str, log: list[str]) -> None:
        self.points = frozenset(points)
        self._log = log

    def install(self) -> None:
        self._log.append(f"in {min(self.points)}")

    def remove(self) -> None:
        self._log.append(f"out {min(self.points)}")


def test_wrappers_come_and_go_with_the_rules() -> None:
    log: list[str] = []
    injector = Injector(lambda: 0.0)
    board = Board(injector, [FakeTap("link.doorbell", log=log), FakeTap("mmu.walk", log=log)])
    board.update()
    assert (board.installed, log) == (0, [])
    name = injector.add(parse_rule("link.doorbell drop"))
    board.update()
    board.update()
    assert (board.installed, log) == (1, ["in link.doorbell"])
    injector.remove(name)
    board.update()
    assert (board.installed, log) == (0, ["in link.doorbell", "out link.doorbell"])


def test_a_part_that_comes_later_is_wrapped_at_once_and_let_go_when_it_leaves() -> None:
    log: list[str] = []
    injector = Injector(lambda: 0.0)
    injector.counts_all = True
    board = Board(injector)
    tap = FakeTap("link.tail", log=log)
    board.add(tap)
    assert log == ["in link.tail"]
    board.discard(tap)
    board.update()
    assert (board.installed, log) == (0, ["in link.tail", "out link.tail"])
