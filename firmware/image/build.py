"""The reference firmware image, built from nothing but the contract.

    0x8000_0000  .text             R X  reset vector first
    next page    .rodata           R    dispatch table of the control operations
                 .note.emuzero     R    `FirmwareNote`
                 .emuzero.limits   R    `FirmwareLimits`
    next page    .data             RW   mailbox
                 .bss              RW   stack

Every area has one page, so that the code knows where its data is before its own size is known.
Should it outgrow its page, the reader refuses the image (OVERLAP).
"""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING, Final

from firmware.abi.boot import (
    LIMITS_SECTION,
    NOTE_NAME,
    NOTE_SECTION,
    NOTE_TYPE,
    Behaviour,
    FirmwareLimits,
    FirmwareNote,
)
from firmware.abi.ids import ABI_MAJOR, ABI_MINOR, PAGE_SIZE, Feature
from firmware.abi.registers import AbiVersion
from firmware.image import _program
from firmware.image._writer import (
    Program,
    ProgramKind,
    Section,
    SectionFlags,
    SectionKind,
    SymbolEntry,
    SymbolType,
    write_elf,
)
from firmware.image.layout import MEMORY_BASE, SegmentFlags

if TYPE_CHECKING:
    from firmware.image._assembler import Program as Code

_SOURCE_NAME: Final = "emuzero_reference.S"
_TEXT, _RODATA, _NOTE, _LIMITS, _DATA, _BSS = range(6)
_TEXT_ADDRESS: Final = MEMORY_BASE
_RODATA_ADDRESS: Final = _TEXT_ADDRESS + PAGE_SIZE
_DATA_ADDRESS: Final = _RODATA_ADDRESS + PAGE_SIZE
_TABLE_SIZE: Final = 8 * _program.TABLE_ENTRIES
_BSS_ADDRESS: Final = _DATA_ADDRESS + _program.MAILBOX_SIZE
_STACK_SIZE: Final = PAGE_SIZE - _program.MAILBOX_SIZE
"""What the page of the mailbox has left; one trap frame and one call deep is far less."""

_MAX_RING_ENTRIES: Final = 8_192
_MAX_QUEUES: Final = 1_023
"""As many as there are doorbell words in a page: every immediate list is a queue of its own."""

REFERENCE_NOTE: Final = FirmwareNote(
    abi_major=ABI_MAJOR,
    abi_minor=ABI_MINOR,
    behaviour=Behaviour.REFERENCE,
    features=(
        Feature.EVENT_INDEX
        | Feature.CLIENT_MEMORY
        | Feature.IPC_RANGES
        | Feature.COPY_REGIONS
        | Feature.TIMESTAMPS
    ),
    name=b"emuzero reference".ljust(32, b"\0"),
    version=b"1.0".ljust(32, b"\0"),
)

REFERENCE_LIMITS: Final = FirmwareLimits(
    control_ring_entries=1_024,
    fault_ring_entries=256,
    min_ring_entries=16,
    max_ring_entries=_MAX_RING_ENTRIES,
    max_queues=_MAX_QUEUES,
    max_clients=64,
    max_spaces=64,
    max_objects=1 << 20,
    fence_count=1_024,
    # A list of 100,000 extents fits in one command.
    payload_size=4 << 20,
    # Every queue has a ring of 256 commands, and 31 may have the largest. Untouched pages cost
    # nothing.
    ring_pool_size=32 << 20,
)


@cache
def reference_image() -> bytes:
    """Return the reference firmware image: the same bytes every time, on every machine."""
    return build_image(REFERENCE_NOTE, REFERENCE_LIMITS)


def build_image(note: FirmwareNote, limits: FirmwareLimits) -> bytes:
    """Return the reference firmware with another note and other limits, neither of them checked.

    Raises:
        ValueError: a number that does not fit its field.
    """
    code = _assemble()
    table = struct.pack(f"<{_program.TABLE_ENTRIES}Q", *_program.control_table(code))
    return write_elf(
        code.address_of("reset"),
        _sections(code.code, table, _note_bytes(note), limits.pack()),
        _PROGRAMS,
        _symbols(code),
        _SOURCE_NAME,
    )


_PROGRAMS: Final = (
    Program(
        kind=ProgramKind.LOAD,
        flags=SegmentFlags.READ | SegmentFlags.EXECUTE,
        first=_TEXT,
        last=_TEXT,
    ),
    Program(kind=ProgramKind.LOAD, flags=SegmentFlags.READ, first=_RODATA, last=_LIMITS),
    Program(
        kind=ProgramKind.LOAD,
        flags=SegmentFlags.READ | SegmentFlags.WRITE,
        first=_DATA,
        last=_BSS,
    ),
    Program(kind=ProgramKind.NOTE, flags=SegmentFlags.READ, first=_NOTE, last=_NOTE, alignment=4),
)


def _assemble() -> Code:
    return _program.assemble(
        _TEXT_ADDRESS,
        _program.DataAddresses(
            control_table=_RODATA_ADDRESS,
            mailbox=_DATA_ADDRESS,
            bss_start=_BSS_ADDRESS,
            bss_end=_BSS_ADDRESS + _STACK_SIZE,
            stack_top=_BSS_ADDRESS + _STACK_SIZE,
        ),
    )


def _note_bytes(note: FirmwareNote) -> bytes:
    """Return the ELF note: sizes, type, name with its zero, descriptor; all padded to 4."""
    name = NOTE_NAME.encode() + b"\0"
    head = struct.pack("<III", len(name), FirmwareNote.SIZE, NOTE_TYPE)
    return head + name.ljust(-(-len(name) // 4) * 4, b"\0") + note.pack()


def _sections(code: bytes, table: bytes, note: bytes, limits: bytes) -> tuple[Section, ...]:
    note_address = _RODATA_ADDRESS + _TABLE_SIZE
    limits_address = -(-(note_address + len(note)) // 8) * 8
    mailbox = bytearray(_program.MAILBOX_SIZE)
    version = AbiVersion.build(major=ABI_MAJOR, minor=ABI_MINOR)
    struct.pack_into("<Q", mailbox, _program.MAILBOX_VERSION, version)
    read, write = SectionFlags.ALLOC, SectionFlags.ALLOC | SectionFlags.WRITE
    bits = SectionKind.PROGBITS
    return (
        Section(
            name=".text",
            kind=bits,
            flags=SectionFlags.ALLOC | SectionFlags.EXECUTE,
            address=_TEXT_ADDRESS,
            data=code,
            alignment=4,
        ),
        _loaded(".rodata", bits, read, _RODATA_ADDRESS, table),
        Section(
            name=NOTE_SECTION,
            kind=SectionKind.NOTE,
            flags=read,
            address=note_address,
            data=note,
            alignment=4,
        ),
        _loaded(LIMITS_SECTION, bits, read, limits_address, limits),
        _loaded(".data", bits, write, _DATA_ADDRESS, bytes(mailbox)),
        Section(
            name=".bss",
            kind=SectionKind.NOBITS,
            flags=write,
            address=_BSS_ADDRESS,
            memory_size=_STACK_SIZE,
            alignment=16,
        ),
    )


def _loaded(
    name: str, kind: SectionKind, flags: SectionFlags, address: int, data: bytes
) -> Section:
    return Section(name=name, kind=kind, flags=flags, address=address, data=data, alignment=8)


def _symbols(code: Code) -> list[SymbolEntry]:
    """Return a symbol for every function and every piece of data."""
    functions = [
        SymbolEntry(function.name, SymbolType.FUNC, _TEXT, function.address, function.size)
        for function in code.functions
    ]
    return [
        *functions,
        SymbolEntry("control_table", SymbolType.OBJECT, _RODATA, _RODATA_ADDRESS, _TABLE_SIZE),
        SymbolEntry("mailbox", SymbolType.OBJECT, _DATA, _DATA_ADDRESS, _program.MAILBOX_SIZE),
        SymbolEntry("stack", SymbolType.OBJECT, _BSS, _BSS_ADDRESS, _STACK_SIZE),
    ]
