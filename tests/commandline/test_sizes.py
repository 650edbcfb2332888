"""Sizes as people write and read them."""

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from firmware.abi.sizes import parse_size
from hostdriver.cli.main import emuzero
from hostdriver.cli.sizes import format_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("65536", 65536),
        ("4k", 4096),
        ("512MiB", 512 << 20),
        ("8 GiB", 8 << 30),
        ("8G", 8 << 30),
        ("1TiB", 1 << 40),
        ("100B", 100),
    ],
)
def test_units_are_powers_of_1024(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "-1", "1.5G", "G", "8 gigs", "1PiB", "8 G", "1  MiB", "9" * 21]
)
def test_what_is_no_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="512MiB"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (8 << 30, "8 GiB"),
        (3 << 40, "3 TiB"),
    ],
)
def test_a_size_is_shown_in_the_unit_in_which_it_reads_best(size: int, text: str) -> None:
    assert format_size(size) == text


@given(st.integers(0, 1023), st.sampled_from([0, 10, 20, 30, 40]))
def test_what_is_shown_is_what_is_read(number: int, shift: int) -> None:
    size = number << shift

    assert parse_size(format_size(size)) == size


def test_a_wrong_size_on_the_command_line_is_a_usage_error() -> None:
    shown = CliRunner().invoke(emuzero, ["serve", "--vram", "lots"])

    assert shown.exit_code == 2
    assert "'lots' is no size" in shown.output


@pytest.mark.parametrize(
    ("text", "instead"), [("3GB", "3GiB"), ("64 kb", "64KiB"), ("1TB", "1TiB"), ("7MB", "7MiB")]
)
def test_a_unit_that_may_be_of_1000_is_refused_with_the_one_of_1024(
    text: str, instead: str
) -> None:
    shown = CliRunner().invoke(emuzero, ["serve", "--vram", text])

    assert shown.exit_code == 2
    assert f"'{text}' may mean powers of 1000" in " ".join(shown.output.split())
    assert instead in shown.output
