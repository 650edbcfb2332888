"""Every example runs as it is, says what its page says, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hostdriver.cli.demo.extensions import EXAMPLES, EXTENSIONS
from tests.harness.commandline import environment
from tests.harness.emulator_process import emulator_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness.emulator_process import EmulatorProcess

MOST_LINES = 100
PAGE = Path(__file__).parents[2] / "docs" / "examples" / "README.md"
QUICK = {"range_export", "two_processes", "unit_test"}
"""Those that run by default, each in a process."""
FILES = sorted(path for path in EXAMPLES.glob("*.py") if path.name != "__init__.py")


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorProcess]:
    """Run one emulator for all examples: each has to leave it as it was."""
    spec = 'max_allocation_size = "32 MiB"'  # half the memory
    with emulator_process(tmp_path_factory.mktemp("emulator"), spec=spec) as running:
        yield running


@pytest.mark.parametrize(
    "file",
    [path if path.stem in QUICK else pytest.param(path, marks=pytest.mark.slow) for path in FILES],
    ids=lambda path: path.stem,
)
def test_it_runs_as_it_is_and_leaves_nothing(emulator: EmulatorProcess, file: Path) -> None:
    before = emulator.audit()

    ended = subprocess.run(
        [sys.executable, "-P", file],
        capture_output=True,
        text=True,
        check=False,
        # Buffered, as output to a pipe is.
        env=environment(EMUZERO_SOCKET=str(emulator.path), PYTHONUNBUFFERED=""),
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == said_of(file)
    assert emulator.audit() == before


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_it_is_short_and_says_how_to_run_it(file: Path) -> None:
    text = file.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= MOST_LINES
    assert f"    python {file.name}" in text or f"python {file.name}\n" in text


def test_every_extension_has_an_example_and_the_page_lists_all() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert {entry.file for entry in EXTENSIONS.values()} <= set(FILES)
    for file in FILES:
        assert f"](../../hostdriver/examples/{file.name})" in page
    for name in EXTENSIONS:
        assert f"`{name}`" in page


def said_of(file: Path) -> list[str]:
    """Return what the page says that an example prints."""
    _, _, after = PAGE.read_text(encoding="utf-8").partition(f"$ python {file.name}\n")
    return after.partition("\n```")[0].splitlines()
