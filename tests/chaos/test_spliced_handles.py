"""Invariant: a handle made up of others opens one export whole, or nothing.

The check word is no secret: here it is right for every forgery. What counts is the token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from firmware.abi.ipc import IpcHandle, check_word
from tests.harness.ze_program import PAGE, Program, program

if TYPE_CHECKING:
    import random
    from collections.abc import Generator

    from tests.harness.emulator_process import EmulatorProcess

START = 4
"""Bytes before are the descriptor: a number that the importer may put in."""
CHECK = slice(60, 64)
MINE, YOURS = b"m" * 64, b"y" * 64


@pytest.fixture
def handles(emulator: EmulatorProcess) -> Generator[tuple[Program, bytes, bytes]]:
    """Yield an importer and handles of two exports that differ in offset, and in nothing else."""
    with program(emulator.path) as exporter, program(emulator.path) as importer:
        found: list[bytes] = []
        for content, offset in ((MINE, 0), (YOURS, 128)):
            va = exporter.do("reserve", PAGE)
            exporter.do("map", va, PAGE, exporter.do("make", PAGE), 0)
            exporter.do("write", va + offset, content)
            found.append(bytes.fromhex(exporter.do("get", va + offset, len(content))))
        yield importer, found[0], found[1]


def forged(handle: bytes) -> bytes:
    return handle[: CHECK.start] + check_word(handle).to_bytes(4, "little")


def test_parts_of_two_handles_open_one_of_them_or_nothing(
    handles: tuple[Program, bytes, bytes],
) -> None:
    importer, mine, yours = handles
    opened: set[str] = set()
    for cut in range(START, CHECK.start):
        pointer = importer.do("open", forged(mine[:cut] + yours[cut:]))
        if pointer == "INVALID_ARGUMENT":
            continue
        content = importer.do("read", pointer, len(MINE))
        assert content in {MINE.hex(), YOURS.hex()}, f"cut at {cut}"
        opened.add(content)
        assert importer.do("close", pointer) is None

    # Cut before the token all of it is the one, cut behind it the other; nothing in between.
    assert opened == {MINE.hex(), YOURS.hex()}


def test_no_forged_number_reaches_beyond_the_export(
    handles: tuple[Program, bytes, bytes], chance: random.Random
) -> None:
    importer, mine, _ = handles
    places = {field.name: slice(field.offset, field.end) for field in IpcHandle.FIELDS}
    for name in ("token", "offset", "size_bytes", "kind", "device_index", "version"):
        place = places[name]
        size = place.stop - place.start
        edges = [bytes(size), b"\xff" * size, (1).to_bytes(size, "little"), chance.randbytes(size)]
        for value in edges:
            handle = forged(mine[: place.start] + value + mine[place.stop :])
            if handle == mine or (name == "kind" and value == b"\1"):
                # An allocation like this one opens in the same way.
                continue
            assert importer.do("open", handle) == "INVALID_ARGUMENT", f"{name}: {value.hex()}"
