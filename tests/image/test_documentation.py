"""The manual's tables are those of the code."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware.abi.boot import FirmwareLimits, FirmwareNote
from firmware.image import LIMIT_BOUNDS, REASONS, REFERENCE_LIMITS, layout

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "firmware-image.md"


def block(name: str) -> list[str]:
    """Return the lines between the marks of one generated part."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^<!-- {name} -->\n(.*?)^<!-- end -->$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def note() -> Iterator[str]:
    yield "| Offset | Bytes | Field | Meaning |"
    yield "|---|---|---|---|"
    for field in FirmwareNote.FIELDS:
        yield f"| {field.offset:#04x} | {field.size} | `{field.name}` | {field.doc} |"


def limits() -> Iterator[str]:
    yield "| Offset | Field | Meaning | Allowed | Reference image |"
    yield "|---|---|---|---|---|"
    for field in FirmwareLimits.FIELDS:
        used: int = getattr(REFERENCE_LIMITS, field.name)
        allowed = LIMIT_BOUNDS[field.name]
        yield f"| {field.offset:#04x} | `{field.name}` | {field.doc} | {allowed} | {used} |"


def errors() -> Iterator[str]:
    yield "| Code | Reason | Meaning | `BOOT_DETAIL` |"
    yield "|---|---|---|---|"
    for reason, refusal in REASONS.items():
        yield f"| {reason:d} | `{reason.name}` | {refusal.meaning} | {refusal.detail} |"


def summary() -> Iterator[str]:
    yield "```"
    script = ROOT / "scripts" / "build_firmware.py"
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    # Size and hash change with every instruction and are no news to a reader.
    yield from result.stdout.splitlines()[1:]
    yield "```"


PARTS = {"note": note, "limits": limits, "errors": errors, "summary": summary}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_the_manual_are_fresh(name: str) -> None:
    expected = list(PARTS[name]())

    assert block(name) == expected, "put into the manual:\n" + "\n".join(expected)


@pytest.mark.parametrize("name", ["note", "limits", "errors"])
def test_rows_of_a_table_have_as_many_cells_as_its_head(name: str) -> None:
    head, *rows = PARTS[name]()

    assert {row.count("|") for row in rows} == {head.count("|")}


def test_bounds_of_counts_are_those_of_the_code() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())

    assert (
        f"At most {layout.MAX_PROGRAM_HEADERS} program headers, {layout.MAX_SECTIONS} sections,"
        f" {layout.MAX_NOTES} notes and {layout.MAX_SYMBOLS:,} symbols; names up to"
        f" {layout.MAX_NAME} bytes." in text
    )
