"""binutils sees in the image what the manual promises, and finds nothing to complain about."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from firmware.abi.boot import LIMITS_SECTION, NOTE_SECTION, NOTE_TYPE
from firmware.abi.control import ControlOpcode
from firmware.image import reference_image

pytestmark = pytest.mark.skipif(
    shutil.which("readelf") is None, reason="readelf comes with the C compiler's binutils"
)


@pytest.fixture(scope="module")
def listing(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("firmware") / "firmware.elf"
    path.write_bytes(reference_image())
    return run("readelf", "--all", "--wide", path)


def run(tool: str, *arguments: str | Path) -> str:
    result = subprocess.run(
        [tool, *arguments],
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stderr == ""
    return result.stdout


@pytest.mark.parametrize(
    "line",
    [
        r"Class: +ELF64",
        r"Data: +2's complement, little endian",
        r"Type: +EXEC",
        r"Machine: +RISC-V",
        r"Entry point address: +0x80000000",
    ],
)
def test_header(listing: str, line: str) -> None:
    assert re.search(line, listing)


def test_nothing_is_wrong_with_it(listing: str) -> None:
    assert not re.search(r"\b(warning|error|corrupt|invalid)\b", listing, re.IGNORECASE)


@pytest.mark.parametrize(
    ("name", "kind", "flags"),
    [
        (".text", "PROGBITS", "AX"),
        (".rodata", "PROGBITS", "A"),
        (NOTE_SECTION, "NOTE", "A"),
        (LIMITS_SECTION, "PROGBITS", "A"),
        (".data", "PROGBITS", "WA"),
        (".bss", "NOBITS", "WA"),
        (".symtab", "SYMTAB", ""),
        (".strtab", "STRTAB", ""),
        (".shstrtab", "STRTAB", ""),
    ],
)
def test_sections(listing: str, name: str, kind: str, flags: str) -> None:
    numbers = r" +[0-9a-f]{16} [0-9a-f]{6} [0-9a-f]{6} [0-9a-f]{2} +"
    assert re.search(rf"\] {re.escape(name)} +{kind}{numbers}{flags} +\d", listing)


def test_segments(listing: str) -> None:
    rights = re.findall(r"^  LOAD +(?:0x[0-9a-f]+ +){5}([RWE ]{3}) 0x1000$", listing, re.MULTILINE)
    covered = re.findall(r"^   0(\d) +(.+?) *$", listing, re.MULTILINE)

    assert rights == ["R E", "R  ", "RW "]
    assert covered == [
        ("0", ".text"),
        ("1", f".rodata {NOTE_SECTION} {LIMITS_SECTION}"),
        ("2", ".data .bss"),
        ("3", NOTE_SECTION),
    ]


def test_note(listing: str) -> None:
    assert re.search(rf"emuzero +0x00000050\s+Unknown note type: \({NOTE_TYPE:#010x}\)", listing)


@pytest.mark.parametrize(
    "name", ["reset", "trap", "idle", *(f"op_{o.name.lower()}" for o in ControlOpcode)]
)
def test_functions(listing: str, name: str) -> None:
    assert re.search(
        rf": [0-9a-f]{{16}} +\d+ FUNC +GLOBAL DEFAULT +1 {name}$", listing, re.MULTILINE
    )


def test_lint_finds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "firmware.elf"
    path.write_bytes(reference_image())

    assert "Warning" not in run("readelf", "--lint", path)


@pytest.mark.skipif(shutil.which("objdump") is None, reason="part of binutils")
def test_objdump_reads_headers_and_symbols(tmp_path: Path) -> None:
    path = tmp_path / "firmware.elf"
    path.write_bytes(reference_image())

    shown = run("objdump", "--all-headers", path)

    assert "EXEC_P, HAS_SYMS, D_PAGED" in shown
    assert re.search(r"\.text\s+[0-9a-f]+ reset$", shown, re.MULTILINE)
