"""Python that stands in the pages for users runs as it is, and leaves nothing behind."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.harness.commandline import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness.emulator_process import EmulatorProcess

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "hostdriver/README.md", "hostdriver/testing/README.md")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A piece of a page."""

    page: str
    line: int
    text: str


def blocks() -> Iterator[Block]:
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            yield Block(page, text[: match.start()].count("\n") + 1, match[1])


@pytest.mark.slow
@pytest.mark.parametrize("block", list(blocks()), ids=lambda block: f"{block.page}:{block.line}")
def test_it_runs_as_it_stands_there(
    emulator: EmulatorProcess, tmp_path: Path, block: Block
) -> None:
    before = emulator.audit()
    program = tmp_path / "program.py"
    # Blank lines above, so that a failure names the page's line.
    program.write_text("\n" * block.line + block.text)

    ended = subprocess.run(
        [sys.executable, "-P", program],
        capture_output=True,
        text=True,
        check=False,
        env=environment(EMUZERO_SOCKET=str(emulator.path)),
    )

    assert (ended.returncode, ended.stderr) == (0, ""), f"{block.page}, line {block.line}"
    assert emulator.audit() == before


def test_every_page_for_users_has_something_to_run() -> None:
    assert {block.page for block in blocks()} == set(PAGES)
