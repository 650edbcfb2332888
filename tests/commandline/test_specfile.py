"""Specification files: what is wrong, and on which line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hostdriver.cli.exits import BadInput
from hostdriver.cli.specfile import line_of, read_spec

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
# vram_size = 1
name = "test"
vram_size = "1 GiB"
banks=3

[latencies]
command_ticks = -1
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("name", 2),
        ("vram_size", 3),
        ("banks", 4),
        ("latencies", 6),
        ("latencies.command_ticks", 7),
        ("ecc", None),
    ],
)
def test_the_line_of_a_key_is_found(key: str, line: int | None) -> None:
    assert line_of(TEXT, key) == line


def test_keys_in_other_spellings_are_found() -> None:
    assert line_of('"vram_size" = 1', "vram_size") == 1
    assert line_of("latencies.command_ticks = 1", "latencies.command_ticks") == 1
    assert line_of("latencies = { command_ticks = 1 }", "latencies.command_ticks") == 1
    assert line_of("max_vram_size = 1", "vram_size") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\nbanks = 3\n", "line 2: device specification: banks: expected a power of two, found 3"),
        ("bonks = 4\n", "line 1: device specification: there is no key bonks; did you mean banks?"),
        ("[latencies]\ncopy_ticks = 1\n", "did you mean latencies.copy_ticks_per_kib?"),
        ("quartz = 4\n", "line 1: device specification: quartz: expected one of"),
        ("name = \n", "at line 1"),
        ("[latencies]\ncommand_ticks = 'x'\n", "line 2: device specification: latencies"),
    ],
)
def test_a_bad_file_is_refused_with_line_and_key(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "device.toml"
    file.write_text(text)

    with pytest.raises(BadInput) as refused:
        read_spec(file, vram_size=None, profile=None)

    assert words in refused.value.message
    assert str(file) in refused.value.message


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        read_spec(tmp_path / "none.toml", vram_size=None, profile=None)
    with pytest.raises(BadInput, match="Is a directory"):
        read_spec(tmp_path, vram_size=None, profile=None)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "device.toml"
    file.write_bytes(b"name = '\xff'")

    with pytest.raises(BadInput, match="byte 8 is no UTF-8"):
        read_spec(file, vram_size=None, profile=None)


def test_the_command_line_goes_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "device.toml"
    file.write_text('name = "mine"\nvram_size = "1 GiB"\nprofile = "spec"\n')

    spec = read_spec(file, vram_size=2 << 30, profile="intel")

    assert (spec.name, spec.vram_size, spec.profile.name) == ("mine", 2 << 30, "INTEL")


def test_a_wrong_size_on_the_command_line_is_not_blamed_on_a_file() -> None:
    with pytest.raises(BadInput, match="--vram: expected"):
        read_spec(None, vram_size=1, profile=None)
