"""Each thing that can be wrong with an image has one clear reason, detail and text."""

import pickle
import struct
from collections.abc import Callable

import pytest

from firmware.abi.boot import NOTE_TYPE
from firmware.abi.ids import ABI_MINOR
from firmware.abi.registers import BootError, DeviceStatus
from firmware.image import REASONS, ImageError, load, reference_image
from tests.harness.elf import Elf

TEXT, RODATA, DATA, NOTE = range(4)
PAGE = 0x1000
HUGE = 1 << 63
REFERENCE = Elf(reference_image())
CODE_END = 0x8000_0000 + REFERENCE.program(TEXT)["p_memsz"]
TABLE_SIZE = REFERENCE.program(RODATA)["p_memsz"]
NOTE_AT = REFERENCE.program(NOTE)["p_offset"]
Case = tuple[Callable[[Elf], None], BootError, int | None, str]


def put(where: str, field: str, value: int) -> Callable[[Elf], None]:
    """Store into the header, into a section (.name), a program header (number) or a symbol."""

    def change(elf: Elf) -> None:
        fields = {
            "header": lambda: elf.header,
            "p": lambda: elf.program(int(where[1:])),
            ".": lambda: elf.section(where),
            "@": lambda: elf.symbol(where[1:]),
        }
        key = where if where == "header" else where[0]
        fields[key]()[field] = value

    return change


def both(*changes: Callable[[Elf], None]) -> Callable[[Elf], None]:
    def change(elf: Elf) -> None:
        for each in changes:
            each(elf)

    return change


def poke(section: str, offset: int, data: bytes) -> Callable[[Elf], None]:
    def change(elf: Elf) -> None:
        elf.contents(section)[offset : offset + len(data)] = data

    return change


def move(index: int, address: int) -> Callable[[Elf], None]:
    """Move a segment in memory."""
    return both(put(f"p{index}", "p_vaddr", address), put(f"p{index}", "p_paddr", address))


def second_note(elf: Elf) -> None:
    note = bytes(elf.contents(".note.emuzero"))
    place_notes(elf, note + note)


def foreign_note(elf: Elf) -> None:
    place_notes(elf, struct.pack("<III", 4, 4, 3) + b"GNU\0abcd")


def many_notes(elf: Elf) -> None:
    place_notes(elf, bytes(12) * 300)


def place_notes(elf: Elf, notes: bytes) -> None:
    offset = elf.append(notes)
    header = elf.program(NOTE)
    header["p_offset"], header["p_filesz"] = offset, len(notes)


def second_limits(elf: Elf) -> None:
    elf.section(".data")["sh_name"] = elf.section(".emuzero.limits")["sh_name"]


def no_functions(elf: Elf) -> None:
    table = elf.section(".symtab")
    for at in range(table["sh_offset"], table["sh_offset"] + table["sh_size"], 24):
        if elf.data[at + 4] == 0x12:
            elf.data[at + 4] = 0x10


HEADER: list[Case] = [
    (put("header", "EI_CLASS", 1), BootError.WRONG_CLASS, 1, "EI_CLASS is 1, expected 2"),
    (put("header", "EI_CLASS", 0), BootError.WRONG_CLASS, 0, "EI_CLASS is 0"),
    (put("header", "EI_DATA", 2), BootError.WRONG_ENDIANNESS, 2, "EI_DATA is 2, expected 1"),
    (put("header", "e_machine", 62), BootError.WRONG_MACHINE, 62, "e_machine is 62, expected 243"),
    (put("header", "e_type", 3), BootError.WRONG_TYPE, 3, "e_type is 3, expected 2"),
    (put("header", "e_type", 1), BootError.WRONG_TYPE, 1, "e_type is 1"),
    (put("header", "EI_VERSION", 0), BootError.BAD_HEADER, 0x06, "EI_VERSION at 0x6 is 0"),
    (put("header", "e_version", 2), BootError.BAD_HEADER, 0x14, "e_version at 0x14 is 2"),
    (put("header", "e_ehsize", 52), BootError.BAD_HEADER, 0x34, "e_ehsize at 0x34 is 52"),
    (put("header", "e_phentsize", 0), BootError.BAD_HEADER, 0x36, "e_phentsize"),
    (put("header", "e_shentsize", 65), BootError.BAD_HEADER, 0x3A, "e_shentsize"),
    (put("header", "e_phnum", 0xFFFF), BootError.BAD_HEADER, 0x38, "65535, expected at most 32"),
    (put("header", "e_shnum", 0xFFFF), BootError.BAD_HEADER, 0x3C, "65535, expected at most 256"),
    (put("header", "e_phoff", 1 << 20), BootError.TRUNCATED, (1 << 20) + 4 * 56, "program headers"),
    (put("header", "e_phoff", HUGE), BootError.TRUNCATED, 0xFFFF_FFFF, "program headers"),
    (put("header", "e_shoff", HUGE), BootError.TRUNCATED, 0xFFFF_FFFF, "section headers"),
    (put("header", "e_shstrndx", 10), BootError.BAD_HEADER, 0x3E, "e_shstrndx at 0x3e is 10"),
    (put("header", "e_shstrndx", 0xFFFF), BootError.BAD_HEADER, 0x3E, "e_shstrndx"),
    (put("header", "e_shstrndx", 1), BootError.BAD_HEADER, 0x3E, "index of a string table"),
    (put(".text", "sh_name", 1 << 30), BootError.BAD_HEADER, None, "sh_name 0x40000000"),
    (put(".shstrtab", "sh_size", HUGE), BootError.TRUNCATED, 0xFFFF_FFFF, "names of sections"),
    (poke(".shstrtab", 1, b"\xff"), BootError.BAD_HEADER, None, "printable"),
    (poke(".shstrtab", 1, b"\x1b"), BootError.BAD_HEADER, None, "printable"),
]

ENTRY: list[Case] = [
    (put("header", "e_entry", 0), BootError.NO_ENTRY, 0, "e_entry is 0x0"),
    (put("header", "e_entry", 0x8000_1000), BootError.NO_ENTRY, 0x8000_1000, "0x8000_1000"),
    (put("header", "e_entry", 0x8000_2000), BootError.NO_ENTRY, 0x8000_2000, "executable segment"),
    (put("header", "e_entry", 0x8000_0002), BootError.NO_ENTRY, 0x8000_0002, "multiple of 4"),
    (put("header", "e_entry", CODE_END), BootError.NO_ENTRY, CODE_END, "inside the code"),
    (put("header", "e_entry", HUGE), BootError.NO_ENTRY, 0xFFFF_FFFF, "executable segment"),
    (put("p0", "p_flags", 4), BootError.NO_ENTRY, 0x8000_0000, "executable segment"),
    (put("p0", "p_type", 0), BootError.NO_ENTRY, 0x8000_0000, "executable segment"),
    (put("header", "e_phnum", 0), BootError.NO_ENTRY, 0x8000_0000, "executable segment"),
]

AT = [64 + 56 * index for index in range(4)]
SEGMENTS: list[Case] = [
    (put("p0", "p_flags", 7), BootError.BAD_SEGMENT, AT[0], "writable and executable"),
    (put("p2", "p_flags", 3), BootError.BAD_SEGMENT, AT[2], "expected it to be readable"),
    (put("p1", "p_flags", 0), BootError.BAD_SEGMENT, AT[1], "expected it to be readable"),
    (put("p1", "p_flags", 0x14), BootError.BAD_SEGMENT, AT[1], "p_flags is 0x14"),
    (put("p1", "p_align", 0), BootError.BAD_SEGMENT, AT[1], "p_align is 0x0"),
    (put("p1", "p_align", 0x800), BootError.BAD_SEGMENT, AT[1], "p_align is 0x800"),
    (put("p1", "p_align", 0x1800), BootError.BAD_SEGMENT, AT[1], "p_align is 0x1800"),
    (put("p1", "p_align", 0x10_0000), BootError.BAD_SEGMENT, AT[1], "differ modulo p_align"),
    (put("p1", "p_offset", 0x2004), BootError.BAD_SEGMENT, AT[1], "differ modulo p_align"),
    (move(DATA, 0x8000_2008), BootError.BAD_SEGMENT, AT[2], "p_vaddr is 0x8000_2008"),
    (put("p2", "p_paddr", 0x4000), BootError.BAD_SEGMENT, AT[2], "p_paddr is 0x4000"),
    (
        put("p1", "p_filesz", TABLE_SIZE + 1),
        BootError.BAD_SEGMENT,
        AT[1],
        f"larger than p_memsz {TABLE_SIZE:#x}",
    ),
    (put("p1", "p_filesz", HUGE), BootError.BAD_SEGMENT, AT[1], "larger than p_memsz"),
    (
        both(put("p2", "p_memsz", 0), put("p2", "p_filesz", 0)),
        BootError.BAD_SEGMENT,
        AT[2],
        "p_memsz is 0",
    ),
    (put("p3", "p_type", 2), BootError.BAD_SEGMENT, AT[3], "PT_DYNAMIC asks for a dynamic linker"),
    (put("p3", "p_type", 3), BootError.BAD_SEGMENT, AT[3], "PT_INTERP asks for a dynamic linker"),
    (
        put("p2", "p_memsz", HUGE),
        BootError.OVERSIZED,
        AT[2],
        "leaves the memory from",
    ),
    (put("p2", "p_memsz", 0xF_F000), BootError.OVERSIZED, AT[2], "segment of 0xff000 bytes"),
    (move(DATA, 0x7FFF_F000), BootError.OVERSIZED, AT[2], "at 0x7fff_f000"),
    (move(DATA, 0x8010_0000), BootError.OVERSIZED, AT[2], "at 0x8010_0000"),
    (move(DATA, (1 << 64) - PAGE), BootError.OVERSIZED, AT[2], "leaves the memory"),
    (move(DATA, 0x8000_1000), BootError.OVERLAP, AT[2], "begins inside the one at 0x8000_1000"),
    (put("p0", "p_memsz", 0x1001), BootError.OVERLAP, AT[1], "0x8000_0000 to 0x8000_1001"),
    (
        both(put("p1", "p_filesz", 0x8_0000), put("p1", "p_memsz", 0x8_0000)),
        BootError.TRUNCATED,
        0x8_2000,
        "segment at 0x8000_1000",
    ),
    (put("p1", "p_offset", 1 << 40), BootError.TRUNCATED, 0xFFFF_FFFF, "segment at 0x8000_1000"),
]

NOTES: list[Case] = [
    (put("p3", "p_type", 0), BootError.NO_NOTE, 0, "among the 0 notes"),
    (put("p3", "p_filesz", 0), BootError.NO_NOTE, 0, "among the 0 notes"),
    (foreign_note, BootError.NO_NOTE, 1, "among the 1 notes"),
    (poke(".note.emuzero", 8, b"\0"), BootError.NO_NOTE, 1, "no note 'emuzero'"),
    (poke(".note.emuzero", 12, b"E"), BootError.NO_NOTE, 1, f"of type {NOTE_TYPE:#x}"),
    (poke(".note.emuzero", 19, b"!"), BootError.NO_NOTE, 1, "no note 'emuzero'"),
    (second_note, BootError.BAD_NOTE, None, "a second ABI note"),
    (many_notes, BootError.BAD_NOTE, None, "more notes than 256"),
    (poke(".note.emuzero", 4, b"\x51"), BootError.BAD_NOTE, NOTE_AT, "0x51 of descriptor"),
    (poke(".note.emuzero", 0, b"\xff" * 4), BootError.BAD_NOTE, NOTE_AT, "bytes of name"),
    (
        poke(".note.emuzero", 4, b"\x4c"),
        BootError.BAD_NOTE,
        NOTE_AT + 20,
        "has 0x4c bytes, expected 0x50",
    ),
    (put("p3", "p_filesz", 99), BootError.BAD_NOTE, NOTE_AT, "are left in its segment"),
    (put("p3", "p_filesz", 1 << 20), BootError.TRUNCATED, (1 << 20) + NOTE_AT, "notes"),
    (put("p3", "p_offset", HUGE), BootError.TRUNCATED, 0xFFFF_FFFF, "notes"),
    (poke(".note.emuzero", 24, b"\x02"), BootError.BAD_NOTE, NOTE_AT + 24, "behaviour"),
    (poke(".note.emuzero", 36, bytes(32)), BootError.BAD_NOTE, NOTE_AT + 36, "name is b'"),
    (poke(".note.emuzero", 36, b"\xff"), BootError.BAD_NOTE, NOTE_AT + 36, "printable UTF-8"),
    (poke(".note.emuzero", 37, b"\0"), BootError.BAD_NOTE, NOTE_AT + 36, "then zeros"),
    (poke(".note.emuzero", 68, b"\n"), BootError.BAD_NOTE, NOTE_AT + 68, "version is b'"),
    (poke(".note.emuzero", 20, b"\2\0\5\0"), BootError.WRONG_VERSION, 0x2_0005, "speaks ABI 2.5"),
    (
        poke(".note.emuzero", 20, b"\0\0"),
        BootError.WRONG_VERSION,
        ABI_MINOR,
        f"ABI 0.{ABI_MINOR}, expected 1.x",
    ),
]

LIMITS: list[Case] = [
    (both(put("header", "e_shnum", 0)), BootError.NO_LIMITS, 0, "among 0 sections"),
    (poke(".shstrtab", 30, b"#"), BootError.NO_LIMITS, 10, "among 10 sections"),
    (second_limits, BootError.BAD_LIMITS, None, "a second section .emuzero.limits"),
    (put(".emuzero.limits", "sh_type", 8), BootError.BAD_LIMITS, None, "0x40 bytes of SHT_NOBITS"),
    (put(".emuzero.limits", "sh_size", 63), BootError.BAD_LIMITS, None, "is 0x3f bytes"),
    (put(".emuzero.limits", "sh_size", HUGE), BootError.BAD_LIMITS, None, "expected 0x40"),
    (
        put(".emuzero.limits", "sh_offset", HUGE),
        BootError.TRUNCATED,
        0xFFFF_FFFF,
        ".emuzero.limits",
    ),
]

SYMBOLS: list[Case] = [
    (put(".symtab", "sh_type", 1), BootError.NO_SYMBOLS, 10, "no symbol table"),
    (put(".symtab", "sh_size", 0), BootError.NO_SYMBOLS, 10, "no function"),
    (no_functions, BootError.NO_SYMBOLS, 10, "no function in the symbol table"),
    (put(".symtab", "sh_entsize", 0), BootError.BAD_SYMBOLS, None, "symbols of 0 bytes"),
    (put(".symtab", "sh_entsize", 1), BootError.BAD_SYMBOLS, None, "symbols of 1 bytes"),
    (put(".symtab", "sh_size", 25), BootError.BAD_SYMBOLS, None, "0x19 bytes of symbols"),
    (put(".symtab", "sh_size", 24 << 50), BootError.BAD_SYMBOLS, None, "expected at most 16384"),
    (put(".symtab", "sh_size", 24 * 16_384), BootError.TRUNCATED, None, "symbol table"),
    (put(".symtab", "sh_offset", HUGE), BootError.TRUNCATED, 0xFFFF_FFFF, "symbol table"),
    (put(".symtab", "sh_link", 99), BootError.BAD_SYMBOLS, None, "sh_link is 99"),
    (put(".symtab", "sh_link", 7), BootError.BAD_SYMBOLS, None, "sh_link is 7"),
    (put(".strtab", "sh_size", HUGE), BootError.TRUNCATED, 0xFFFF_FFFF, "names of symbols"),
    (put("@op_map", "st_name", 1 << 31), BootError.BAD_SYMBOLS, None, "st_name 0x80000000"),
    (put("@op_map", "st_value", 0x8000_1000), BootError.BAD_SYMBOLS, None, "function op_map"),
    (put("@op_map", "st_value", 0), BootError.BAD_SYMBOLS, None, "at 0x0 does not lie"),
    (put("@op_map", "st_size", HUGE), BootError.BAD_SYMBOLS, None, "executable segment"),
    (
        poke(".strtab", 1 + len("emuzero_reference.S") + 1, b"\x07"),
        BootError.BAD_SYMBOLS,
        None,
        "printable",
    ),
]

ALL = [*HEADER, *ENTRY, *SEGMENTS, *NOTES, *LIMITS, *SYMBOLS]


def refusal(data: bytes) -> ImageError:
    with pytest.raises(ImageError) as caught:
        load(data)
    return caught.value


@pytest.mark.parametrize(("change", "reason", "detail", "text"), ALL)
def test_what_is_wrong_is_told(
    change: Callable[[Elf], None], reason: BootError, detail: int | None, text: str
) -> None:
    elf = Elf(reference_image())
    change(elf)

    error = refusal(bytes(elf))

    assert error.reason is reason
    assert text in str(error)
    assert str(error).startswith(f"firmware image refused ({reason.name}): ")
    if detail is not None:
        assert error.detail == detail


def test_a_file_cut_at_any_byte_is_truncated() -> None:
    data = reference_image()
    for size in range(len(data)):
        error = refusal(data[:size])
        assert error.reason is BootError.TRUNCATED
        assert size < error.detail <= len(data)


@pytest.mark.parametrize("data", [b"#", b"MZ", b"\x7fELG", b"\x7fELf" + bytes(60), bytes(1 << 16)])
def test_other_files_are_no_elf(data: bytes) -> None:
    error = refusal(data)

    assert error.reason is BootError.NOT_ELF
    assert error.detail == int.from_bytes(data[:4], "little")


def test_memory_of_another_size_or_place_is_respected() -> None:
    data = reference_image()

    assert load(data, memory_size=0x3000).entry == 0x8000_0000
    with pytest.raises(ImageError, match="OVERSIZED"):
        load(data, memory_size=0x2FFF)
    with pytest.raises(ImageError, match="OVERSIZED"):
        load(data, base=0x8000_1000)


def test_every_reason_of_the_reader_has_a_case_here() -> None:
    tested = {reason for _, reason, _, _ in ALL} | {BootError.NOT_ELF, BootError.BAD_LIMITS}

    # The first is no refusal, the last is the device's to say.
    assert set(BootError) - tested == {BootError.NONE, BootError.UNSUPPORTED_BEHAVIOUR}


def test_every_reason_is_explained() -> None:
    assert list(REASONS) == list(BootError)


@pytest.mark.parametrize("reason", BootError)
def test_every_reason_fits_the_status_register(reason: BootError) -> None:
    assert DeviceStatus.build(boot_error=reason).boot_error is reason


def test_an_error_can_cross_processes() -> None:
    error = refusal(b"not a firmware")

    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - it was pickled here

    assert (copy.reason, copy.detail, str(copy)) == (error.reason, error.detail, str(error))
