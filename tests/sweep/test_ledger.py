"""The ledger: what was run is there after an interruption, another sweep is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from hostdriver.cli.exits import BadInput
from hostdriver.cli.sweep.ledger import Entry, Heading, Ledger, Question
from hostdriver.cli.sweep.outcome import Left, Outcome, Trial

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = Question(program=["./p"], options={}, seed=0, rules=["all"], most=0)
GOOD = Trial(exit_status=0, seconds=1.0, output="x", unfreed=Left({}), remains=Left({}))
CELLS = ["mmu.walk fail_walk nth=1", "mmu.walk fail_walk nth=2", "mmu.walk fail_walk nth=3"]
HEADING = Heading(question=QUESTION, cells=CELLS, good=GOOD, compares_output=True, reached={})


def _entry(nth: int) -> Entry:
    return Entry(
        cell=CELLS[nth - 1],
        point="mmu.walk",
        nth=nth,
        outcome=Outcome.HANDLED,
        text="",
        trial=GOOD,
        recovered=False,
    )


def _resumed(path: Path, question: Question = QUESTION) -> Ledger:
    found = Ledger.resume(path, question)
    assert found is not None
    return found


def test_an_interrupted_sweep_goes_on_with_the_cells_that_are_open(tmp_path: Path) -> None:
    ledger = Ledger(HEADING, tmp_path / "l")
    ledger.add(_entry(2))
    ledger.close()
    resumed = _resumed(tmp_path / "l")
    assert resumed.open_cells() == (CELLS[0], CELLS[2])
    resumed.add(_entry(3))
    resumed.add(_entry(1))
    resumed.close()
    whole = _resumed(tmp_path / "l")
    assert (whole.heading, whole.open_cells()) == (HEADING, ())
    assert [entry.nth for entry in whole.entries()] == [1, 2, 3]
    whole.close()


def test_a_line_that_was_cut_off_is_run_again(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = Ledger(HEADING, path)
    ledger.add(_entry(1))
    ledger.add(_entry(2))
    ledger.close()
    path.write_bytes(path.read_bytes()[:-20])
    resumed = _resumed(path)
    assert resumed.open_cells() == (CELLS[1], CELLS[2])
    resumed.add(_entry(2))
    resumed.close()
    again = _resumed(path)
    assert again.open_cells() == (CELLS[2],)
    again.close()


def test_nothing_to_go_on_with_is_none(tmp_path: Path) -> None:
    assert Ledger.resume(tmp_path / "none", QUESTION) is None
    (tmp_path / "cut").write_bytes(b'{"question": ')
    assert Ledger.resume(tmp_path / "cut", QUESTION) is None


def test_another_sweep_and_what_is_no_ledger_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "l"
    Ledger(HEADING, path).close()
    other = msgspec.structs.replace(QUESTION, seed=1)
    with pytest.raises(BadInput, match="of another sweep"):
        Ledger.resume(path, other)
    path.write_bytes(b"[]\n")
    with pytest.raises(BadInput, match="is no ledger of a sweep"):
        Ledger.resume(path, QUESTION)


def test_a_ledger_that_another_sweep_writes_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = Ledger(HEADING, path)
    ledger.add(_entry(1))
    before = path.read_bytes()
    with pytest.raises(BadInput, match="another sweep writes there"):
        Ledger.resume(path, QUESTION)
    with pytest.raises(BadInput, match="another sweep writes there"):
        Ledger(HEADING, path)
    assert path.read_bytes() == before
    ledger.close()
    _resumed(path).close()


def test_a_device_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    path.symlink_to("/dev/zero")
    with pytest.raises(BadInput, match="is no file, and no ledger of a sweep"):
        Ledger.resume(path, QUESTION)


def test_a_plan_of_what_are_no_rules_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    Ledger(msgspec.structs.replace(HEADING, cells=["mmu.walk explode"]), path).close()
    with pytest.raises(BadInput, match=r"no action is called 'explode'.*--fresh begins anew"):
        Ledger.resume(path, QUESTION)
