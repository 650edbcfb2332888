"""The reference image: the same bytes everywhere, and what they hold."""

import hashlib
import os
import struct
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from firmware.abi.boot import Behaviour
from firmware.abi.control import ControlOpcode
from firmware.abi.ids import ABI_MAJOR, ABI_MINOR, PAGE_SIZE, Feature
from firmware.image import (
    MEMORY_BASE,
    REFERENCE_LIMITS,
    REFERENCE_NOTE,
    FirmwareImage,
    SegmentFlags,
    SymbolKind,
    build_image,
    load,
    reference_image,
)
from tests.harness.elf import Elf

ROOT = Path(__file__).parents[2]
# It changes when the contract's opcodes, note or limits do, or the firmware's own code:
# scripts/build_firmware.py prints the new one.
GOLDEN = "e6a5790d8da25733e3a79ba8cb2428589599f03ad55b526eac316f4f5e5f054e"


@pytest.fixture(scope="module")
def image() -> FirmwareImage:
    return load(reference_image())


def test_bytes_are_the_golden_ones() -> None:
    assert hashlib.sha256(reference_image()).hexdigest() == GOLDEN


@pytest.mark.parametrize("hash_seed", ["0", "1", "4294967295"])
def test_another_interpreter_builds_the_same_bytes(hash_seed: str) -> None:
    program = (
        "import hashlib; from firmware.image import reference_image as r;"
        "print(hashlib.sha256(r()).hexdigest())"
    )

    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": "Asia/Kathmandu", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert result.stdout.strip() == GOLDEN


def test_entry_is_the_reset_vector_at_the_start_of_memory(image: FirmwareImage) -> None:
    assert image.entry == MEMORY_BASE
    assert image.symbolise(image.entry) == "reset"


def test_segments_are_text_rodata_and_data(image: FirmwareImage) -> None:
    text, rodata, data = image.segments

    assert text.flags == SegmentFlags.READ | SegmentFlags.EXECUTE
    assert rodata.flags == SegmentFlags.READ
    assert data.flags == SegmentFlags.READ | SegmentFlags.WRITE
    assert all(segment.address % PAGE_SIZE == 0 for segment in image.segments)
    assert data.memory_size > len(data.data)
    assert data.end == data.address + data.memory_size


def test_note_and_limits_are_those_it_was_built_with(image: FirmwareImage) -> None:
    assert image.note == REFERENCE_NOTE
    assert (image.note.abi_major, image.note.abi_minor) == (ABI_MAJOR, ABI_MINOR)
    assert image.note.behaviour is Behaviour.REFERENCE
    assert Feature.PEER_ACCESS not in image.note.features
    assert image.limits == REFERENCE_LIMITS
    assert (image.name, image.version) == ("emuzero reference", "1.0")


@pytest.mark.parametrize("opcode", ControlOpcode)
def test_every_control_operation_has_a_function(
    image: FirmwareImage, opcode: ControlOpcode
) -> None:
    symbol = image.symbols.named(f"op_{opcode.name.lower()}")

    assert symbol is not None
    assert symbol.kind is SymbolKind.FUNCTION


def test_dispatch_table_leads_to_the_function_of_each_opcode(image: FirmwareImage) -> None:
    table = image.symbols.named("control_table")
    rodata = image.segments[1]
    assert table is not None
    offset = table.address - rodata.address
    targets = struct.unpack_from(f"<{table.size // 8}Q", rodata.data, offset)

    names = [image.symbolise(target) for target in targets]

    known = {int(opcode): f"op_{opcode.name.lower()}" for opcode in ControlOpcode}
    assert names == [known.get(opcode, "op_unknown") for opcode in range(max(known) + 1)]


def test_functions_cover_all_code_without_gap_or_overlap(image: FirmwareImage) -> None:
    text = image.segments[0]
    position = text.address
    for function in image.symbols.functions():
        assert function.address == position
        position += function.size
    assert position == text.address + len(text.data)


def test_another_note_and_other_limits_give_another_good_image() -> None:
    note = type(REFERENCE_NOTE)(
        abi_major=ABI_MAJOR,
        abi_minor=7,
        behaviour=Behaviour.RISCV,
        features=Feature(0),
        name="größer".encode().ljust(32, b"\0"),
        version=b"x" * 32,
    )

    image = load(build_image(note, REFERENCE_LIMITS))

    assert image.note == note
    assert (image.name, image.version) == ("größer", "x" * 32)


def test_a_note_that_does_not_fit_its_fields_cannot_be_built() -> None:
    note = type(REFERENCE_NOTE)(
        abi_major=1 << 16,
        abi_minor=0,
        behaviour=Behaviour.REFERENCE,
        features=Feature(0),
        name=b"",
        version=b"",
    )

    with pytest.raises(ValueError, match="FirmwareNote"):
        build_image(note, REFERENCE_LIMITS)


def test_an_image_cannot_be_changed(image: FirmwareImage) -> None:
    with pytest.raises(FrozenInstanceError):
        image.entry = 0  # type: ignore[misc]


def test_two_loads_are_equal(image: FirmwareImage) -> None:
    assert load(reference_image()) == image


def test_features_of_later_versions_are_passed_over() -> None:
    elf = Elf(reference_image())
    elf.contents(".note.emuzero")[35] = 0x80

    assert load(bytes(elf)).note == REFERENCE_NOTE
