"""The gallery: every recipe does what its page shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.sweeps.programs import compile_exchange

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "faults-gallery.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
STATUS = {"kill": 137, "interval=20": 0}
"""Exit status by a word of the rule; of all others with a rule 1."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the program, compiled against our declarations."""
    return compile_exchange(tmp_path_factory.mktemp("gallery")).parent


def test_the_page_has_at_least_ten_recipes() -> None:
    assert len(BLOCKS) >= 11
    assert len(BLOCKS) == len(set(BLOCKS))


def test_the_program_is_compiled_as_the_page_says(tmp_path: Path) -> None:
    (commands,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    made = tmp_path / "exchange"
    script = f"""
        emuzero() {{ {shlex.quote(sys.executable)} -m hostdriver.cli "$@"; }}
        {commands.replace("-o exchange", f"-o {shlex.quote(str(made))}")}
    """
    subprocess.run(["bash", "-euc", script], cwd=ROOT, check=True, timeout=110)
    assert made.is_file()


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0][14:60])
def test_each_recipe_shows_what_the_page_says(block: str, folder: Path) -> None:
    first, *expected = block.splitlines()
    _, command, subcommand, *words = shlex.split(first)
    assert (command, subcommand) == ("emuzero", "run")
    found = subprocess.run(
        [sys.executable, "-m", "hostdriver.cli", "run", *words],
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=110,
    )
    status = next((code for word, code in STATUS.items() if word in first), 1)
    assert found.returncode == (status if "--fault" in words else 0)
    shown = found.stdout.splitlines()
    assert len(shown) == len(expected), found.stdout
    for line, pattern in zip(shown, expected, strict=True):
        assert re.fullmatch(re.escape(pattern).replace(r"\.\.\.", ".+"), line), (line, pattern)
