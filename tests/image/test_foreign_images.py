"""Images that linkers make differ from the reference in ways that are no faults."""

import struct

from firmware.image import SymbolKind, load, reference_image
from tests.harness.elf import Elf

PT_RISCV_ATTRIBUTES = 0x7000_0003
NOTYPE, OBJECT, SECTION, FILE, TLS = 0, 1, 3, 4, 6


def with_symbols(elf: Elf, *symbols: tuple[str, int, int, int, int]) -> bytes:
    """Add symbols: name, type, section, address, size."""
    table, strings = elf.section(".symtab"), elf.section(".strtab")
    names = bytes(elf.contents(".strtab"))
    entries = bytes(elf.contents(".symtab"))
    for name, kind, section, address, size in symbols:
        entries += struct.pack("<IBBHQQ", len(names), kind, 0, section, address, size)
        names += name.encode() + b"\0"
    table["sh_offset"], table["sh_size"] = elf.append(entries), len(entries)
    strings["sh_offset"], strings["sh_size"] = elf.append(names), len(names)
    return bytes(elf)


def test_bytes_behind_the_last_table_are_passed_over() -> None:
    assert load(reference_image() + bytes(999)) == load(reference_image())


def test_segments_of_other_kinds_are_passed_over() -> None:
    elf = Elf(reference_image())
    header = elf.append(bytes(elf.data[64 : 64 + 4 * 56]) + bytes(56))
    elf.header["e_phoff"], elf.header["e_phnum"] = header, 5
    elf.program(4)["p_type"] = PT_RISCV_ATTRIBUTES

    assert load(bytes(elf)) == load(reference_image())


def test_segments_may_stand_in_any_order() -> None:
    elf = Elf(reference_image())
    headers = [elf.data[64 + 56 * i : 120 + 56 * i] for i in (3, 2, 0, 1)]
    elf.data[64 : 64 + 4 * 56] = b"".join(headers)

    assert load(bytes(elf)) == load(reference_image())


def test_other_notes_may_stand_beside_ours() -> None:
    elf = Elf(reference_image())
    ours = bytes(elf.contents(".note.emuzero"))
    other = struct.pack("<III", 4, 5, 3) + b"GNU\0abcde\0\0\0"
    offset = elf.append(other + ours + other + bytes(8))
    note = elf.program(3)
    note["p_offset"], note["p_filesz"] = offset, 2 * len(other) + len(ours) + 8

    assert load(bytes(elf)).note == load(reference_image()).note


def test_notes_may_be_aligned_to_8() -> None:
    elf = Elf(reference_image())
    ours = bytes(elf.contents(".note.emuzero"))
    # Name and head together are 20 bytes: the descriptor moves to the next multiple of 8.
    notes = ours[:20] + bytes(4) + ours[20:]
    note = elf.program(3)
    note["p_offset"], note["p_filesz"], note["p_align"] = elf.append(notes), len(notes), 8

    assert load(bytes(elf)).note == load(reference_image()).note


def test_symbols_that_no_trace_needs_are_left_out() -> None:
    text, absolute, undefined, common = 1, 0xFFF1, 0, 0xFFF2
    here = 0x8000_0010
    data = with_symbols(
        Elf(reference_image()),
        ("$xrv64i", NOTYPE, text, here, 0),
        (".L12", NOTYPE, text, here, 0),
        ("", NOTYPE, text, here, 0),
        ("elsewhere", NOTYPE, absolute, here, 0),
        ("missing", NOTYPE, undefined, here, 0),
        ("shared", OBJECT, common, here, 0),
        ("main.c", FILE, absolute, here, 0),
        (".text", SECTION, text, here, 0),
        ("thread", TLS, text, here, 0),
        ("__stack_end", NOTYPE, text, 0x8000_3000, 0),
        ("__wide", OBJECT, text, here, 0x1_0000),
    )

    assert load(data).symbols == load(reference_image()).symbols


def test_labels_and_objects_in_memory_are_kept() -> None:
    data = with_symbols(
        Elf(reference_image()),
        ("loop", NOTYPE, 1, 0x8000_0024, 0),
        ("counter", OBJECT, 6, 0x8000_2800, 8),
    )

    image = load(data)

    assert image.symbolise(0x8000_0028) == "loop+0x4"
    assert image.symbolise(0x8000_2804) == "counter+0x4"
    label = image.symbols.named("loop")
    assert label is not None
    assert label.kind is SymbolKind.LABEL
