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
        ("\nbanks = 3\n", ":2: banks: expected a power of two, found 3"),
        ("bonks = 4\n", ":1: there is no key bonks; did you mean banks?"),
        ("[latencies]\ncopy_ticks = 1\n", ":2: there is no key latencies.copy_ticks; did you mean"),
        ("[latencies]\nquartz = 1\n", "latencies.quartz; expected one of command_ticks, c"),
        ("quartz = 4\n", ":1: there is no key quartz; docs/device.toml shows all "),
        ("\n[quartz.deep]\n", ":2: there is no key quartz;"),
        ("banks = '3'\n", ":1: banks: expected a whole number from 1 to 64, found '3'"),
        ("banks = true\n", ":1: banks: expected a whole number from 1 to 64, found True"),
        ("latencies = 5\n", ":1: latencies: expected a table, found 5"),
        ("page_sizes = []\n", ":1: page_sizes: expected 4 KiB among them, found none"),
        ("page_sizes = ['2 MiB']\n", "expected 4 KiB among them, found 2 MiB"),
        ("name = \n", ":1: no TOML: invalid value (at line 1, column 8)"),
        ("a = 1\na = 2", ":2: no TOML: cannot overwrite a value (at end of document)"),
        ("[latencies]\ncommand_ticks = 'x'\n", ":2: latencies.command_ticks: expected"),
        (
            "extensions = ['ZE_extension_external_memmap_sysmen']\n",
            "; did you mean 'ZE_extension_external_memmap_sysmem'?",
        ),
        ("extensions = ['quartz']\n", "expected names of Level Zero extensions, found 'quartz'"),
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


def test_a_wrong_size_in_a_file_is_not_blamed_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "device.toml"
    file.write_text("vram_size = '1 gallon'\n")

    with pytest.raises(BadInput, match=r"device\.toml:1: vram_size: expected bytes"):
        read_spec(file, vram_size=2 << 30, profile=None)


def test_a_wrong_size_on_the_command_line_is_not_blamed_on_a_file() -> None:
    with pytest.raises(BadInput, match="--vram: expected"):
        read_spec(None, vram_size=1, profile=None)
