"""Invariant: a specification file is taken or refused in words, whatever stands in it."""

from __future__ import annotations

import pytest

from device.core.spec import DeviceSpec, SpecError

DIGITS = "9" * 5000
"""More than Python makes a number of."""
DEEP = 3000
"""More brackets than Python's stack has room for."""


@pytest.mark.parametrize(
    "text",
    [
        f"vram_size = {DIGITS}",
        f'vram_size = "{DIGITS} KiB"',
        'vram_size = "٣ GiB"',
        "vram_size = 1e300",
        "vram_size = nan",
        "vram_size = 2020-01-01",
        "page_sizes = " + "[" * DEEP,
        "latencies = " + "{ x = " * DEEP,
        "latencies = 3",
        "latencies = { command_ticks = 1.5 }",
        "page_sizes = []",
        'name = "\\u0000"',
        "name = 3",
        "ecc = 1",
        "pci_address = '0000:03:00.0\n'",
        "profile = []",
        "\0",
    ],
    ids=range(17),
)
def test_no_text_makes_anything_but_a_specification_or_an_error_of_one(text: str) -> None:
    with pytest.raises(SpecError, match="expected"):
        DeviceSpec.from_toml(text)
