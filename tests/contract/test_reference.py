"""The reference in docs is fresh, complete, and its links lead somewhere."""

import re
import runpy
from pathlib import Path

import pytest

from firmware.abi.catalogue import CONSTANTS, ENUMS, FLAGS, RECORDS, WORDS
from firmware.abi.reference import INDEX
from firmware.abi.registers import REGISTERS
from firmware.inject.page import reference as pages

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"
SCRIPT = ROOT / "scripts" / "gen_reference.py"


def run(*arguments: str) -> int:
    """Return the exit status of the script."""
    status: int = runpy.run_path(str(SCRIPT))["main"](arguments)
    return status


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {heading.lower().replace(" ", "-") for heading in headings}


def test_the_copies_in_docs_are_fresh() -> None:
    stale = [name for name, text in pages().items() if (FOLDER / name).read_text() != text]

    assert stale == [], "run scripts/gen_reference.py and look at what changed"


def test_the_check_names_every_stale_file_and_writing_makes_them_fresh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "reference"
    assert run("--folder", str(folder)) == 0
    assert run("--folder", str(folder), "--check") == 0
    (folder / "rings.md").write_text("old")
    (folder / "boot.md").unlink()
    (folder / "gone.md").write_text("of another time")
    capsys.readouterr()

    assert run("--folder", str(folder), "--check") == 1

    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("stale:")]
    assert told == [f"stale: {folder / name}" for name in ("boot.md", "gone.md", "rings.md")]
    assert run("--folder", str(folder)) == 0
    assert run("--folder", str(folder), "--check") == 0
    assert not (folder / "gone.md").exists()


@pytest.mark.parametrize("name", pages())
def test_links_lead_somewhere(name: str) -> None:
    texts = pages()

    targets = re.findall(r"\]\(([^)]+)\)", texts[name])

    for target in targets:
        file, _, anchor = target.partition("#")
        assert file in texts or (FOLDER / file).is_file(), target
        assert not anchor or anchor in anchors(texts[file]), target
    assert targets


def test_the_index_lists_every_page() -> None:
    texts = pages()

    assert [name for name in texts if f"]({name})" not in texts[INDEX]] == [INDEX]


def test_everything_declared_has_a_place() -> None:
    text = "\n".join(pages().values())
    told_elsewhere = {"ControlOpcode", "WorkOpcode", "Extension"}  # in tables of their own
    named = {kind.__name__ for kind in (*RECORDS.values(), *WORDS, *FLAGS, *ENUMS)}

    headings = set(re.findall(r"^### (\w+)$", text, re.MULTILINE))

    assert named - told_elsewhere - headings == set()
    for register in REGISTERS:
        assert f"| `{register.name}` |" in text
    for constant in CONSTANTS:
        assert f"| `{constant.name}` |" in text


@pytest.mark.parametrize("name", pages())
def test_tables_have_no_holes(name: str) -> None:
    rows = [line for line in pages()[name].splitlines() if line.startswith("| ")]

    for row in rows:
        cells = re.split(r"(?<!\\)\|", row)[1:-1]
        assert cells[-1].strip(), row


def test_every_page_is_plain_text_that_ends_with_one_newline() -> None:
    for name, text in pages().items():
        assert text.isascii(), name
        assert text.endswith("\n"), name
        assert "\n\n\n" not in text, name
