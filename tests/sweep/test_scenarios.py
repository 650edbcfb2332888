"""Our own programs under sweeps: every point that they reach, some sites of each.

`scripts/sweep` tries all sites. With EMUZERO_TEST_SEED these tests draw others between the first
and the last.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from firmware.inject import parse_rule, points
from firmware.inject.actions import Kill
from hostdriver.cli.sweep.outcome import Outcome
from scripts.sweeps.programs import SUMMARIES, program
from tests.harness.commandline import command_line, environment

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
HANG_SECONDS = 60
"""Long after what any of them takes on a machine that does other things too."""
MOST = {"exchange": 3, "two-processes": 2, "demo": 2}
"""Sites of a point in one process."""
SAYS = {
    "exchange": r"^(\w+ returned 0x|piece \d did not arrive)",
    "two-processes": r"^hostdriver\.core\.results\.ZeError: ZE_RESULT_ERROR_",
    "demo": r"\A(?!.*Traceback).*^Error: ",
}
"""What a program says that ended with an error: one of the interface, and none of Python's."""
SHARDS = (
    ("api.*",),
    ("os.*", "peer.*", "link.*"),
    ("command.*", "mcu.*", "device.*", "dma.*", "mmu.*", "memory.*"),
)


class Part(NamedTuple):
    """Some points of one program."""

    name: str
    globs: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}-{self.globs[0].partition('.')[0]}"


PARTS = [Part(name, globs) for name in SUMMARIES for globs in SHARDS]


def swept(part: Part, folder: Path) -> dict[str, Any]:
    """Sweep some points of a program; return the report."""
    chosen = [word for glob in part.globs for word in ("--point", glob)]
    done = subprocess.run(
        command_line(
            *("sweep", "--vram", "64MiB", "--workers", 1, "--timeout", HANG_SECONDS, *chosen),
            *("--most", MOST[part.name], "--seed", os.environ.get("EMUZERO_TEST_SEED", "0")),
            *("--output", folder, "--", *program(part.name, folder)),
        ),
        check=False,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    report: dict[str, Any] = json.loads((folder / "report.json").read_text("utf-8"))
    return report


def test_the_parts_have_every_point_once() -> None:
    layers = [glob.partition(".")[0] for globs in SHARDS for glob in globs]
    assert sorted(layers) == sorted({name.partition(".")[0] for name in points()})


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_every_fault_is_survived_at_first_last_and_other_sites(part: Part, tmp_path: Path) -> None:
    report = swept(part, tmp_path / "swept")
    layers = {glob.partition(".")[0] for glob in part.globs}
    mine = [row for row in report["points"] if row["point"].partition(".")[0] in layers]
    assert mine
    for row in mine:
        assert row["armed"] >= min(row["reached"], MOST[part.name]), row
        # Which sites are reached may differ from run to run; that one is, does not.
        assert row["fired"], row
    outcomes = report["outcomes"]
    good = {outcome.value for outcome in Outcome if outcome.is_good}
    assert [kind for kind, count in outcomes.items() if count and kind not in good] == []
    assert outcomes["handled"] == sum(row["fired"] for row in mine)
    for run in report["runs"]:
        status, told = run["trial"]["exit_status"], run["trial"]["tail"]
        # Who was killed, or waited for one who was, has no error of the interface to tell.
        if status and not isinstance(parse_rule(run["cell"]).action, Kill):
            assert re.search(SAYS[part.name], told, re.MULTILINE | re.DOTALL), (run["cell"], told)
