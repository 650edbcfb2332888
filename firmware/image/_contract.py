"""What the firmware says about itself: its ABI note and its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi import Malformed, offset_of
from firmware.abi.boot import (
    LIMITS_SECTION,
    NOTE_NAME,
    NOTE_TYPE,
    FirmwareLimits,
    FirmwareNote,
)
from firmware.abi.ids import ABI_MAJOR
from firmware.abi.registers import AbiVersion, BootError
from firmware.image._contents import read_notes
from firmware.image._fence import check_inside, printable
from firmware.image.errors import ImageError
from firmware.image.layout import LIMIT_BOUNDS, MAX_NOTES, work_ring_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from firmware.image._contents import Note
    from firmware.image._tables import ProgramHeader, SectionHeader

_NAME: Final = NOTE_NAME.encode() + b"\0"


def find_note(data: bytes, headers: Iterable[ProgramHeader]) -> FirmwareNote:
    """Return the one ABI note; notes of others are passed over.

    Raises:
        ImageError: NO_NOTE, BAD_NOTE, WRONG_VERSION or TRUNCATED.
    """
    notes = _all_notes(data, headers)
    ours = [note for note in notes if note.kind == NOTE_TYPE and note.name == _NAME]
    if not ours:
        raise ImageError(
            BootError.NO_NOTE,
            len(notes),
            f"no note {NOTE_NAME!r} of type {NOTE_TYPE:#x} among the {len(notes)} notes of PT_NOTE"
            " segments",
        )
    if len(ours) > 1:
        raise ImageError(
            BootError.BAD_NOTE, ours[1].at, f"a second ABI note at {ours[1].at:#x}, expected one"
        )
    return _decode_note(data, ours[0])


def _all_notes(data: bytes, headers: Iterable[ProgramHeader]) -> list[Note]:
    notes: list[Note] = []
    for header in headers:
        if header.kind != "PT_NOTE":
            continue
        for note in read_notes(data, header):
            if len(notes) == MAX_NOTES:
                raise ImageError(
                    BootError.BAD_NOTE, note.at, f"more notes than {MAX_NOTES} at {note.at:#x}"
                )
            notes.append(note)
    return notes


def _decode_note(data: bytes, note: Note) -> FirmwareNote:
    if note.size != FirmwareNote.SIZE:
        raise ImageError(
            BootError.BAD_NOTE,
            note.at,
            f"ABI note at {note.at:#x} has {note.size:#x} bytes, expected {FirmwareNote.SIZE:#x}",
        )
    descriptor = data[note.at : note.at + note.size]
    # The version comes first in every version of the note; the rest may differ in another one.
    major = int.from_bytes(descriptor[0:2], "little")
    minor = int.from_bytes(descriptor[2:4], "little")
    if major != ABI_MAJOR:
        raise ImageError(
            BootError.WRONG_VERSION,
            AbiVersion.build(major=major, minor=minor),
            f"the firmware speaks ABI {major}.{minor}, expected {ABI_MAJOR}.x",
        )
    decoded = FirmwareNote.unpack(descriptor)
    if isinstance(decoded, Malformed):
        raise ImageError(
            BootError.BAD_NOTE, note.at + decoded.offset, f"ABI note at {note.at:#x}: {decoded}"
        )
    for field in FirmwareNote.FIELDS:
        value: object = getattr(decoded, field.name)
        if isinstance(value, bytes) and not _is_text(value):
            raise ImageError(
                BootError.BAD_NOTE,
                note.at + field.offset,
                f"ABI note at {note.at:#x}: {field.name} is {value!r}, expected printable UTF-8,"
                " then zeros",
            )
    return decoded


def _is_text(padded: bytes) -> bool:
    text = padded.rstrip(b"\0")
    # A zero inside is not printable.
    return bool(text) and printable(text) is not None


def find_limits(
    data: bytes, sections: tuple[SectionHeader, ...], names: tuple[str, ...]
) -> FirmwareLimits:
    """Return the limits, each within its bounds.

    Raises:
        ImageError: NO_LIMITS, BAD_LIMITS or TRUNCATED.
    """
    found = [s for s, name in zip(sections, names, strict=True) if name == LIMITS_SECTION]
    if not found:
        raise ImageError(
            BootError.NO_LIMITS,
            len(sections),
            f"no section {LIMITS_SECTION} among {len(sections)} sections",
        )
    if len(found) > 1:
        raise _bad_limits(found[1].at, f"a second section {LIMITS_SECTION}, expected one")
    section = found[0]
    if section.kind != "SHT_PROGBITS" or section.size != FirmwareLimits.SIZE:
        raise _bad_limits(
            section.at,
            f"section header at {section.at:#x}: {LIMITS_SECTION} is {section.size:#x} bytes of"
            f" {section.kind}, expected {FirmwareLimits.SIZE:#x} of SHT_PROGBITS",
        )
    check_inside(data, section.offset, section.size, LIMITS_SECTION)
    limits = FirmwareLimits.unpack(data[section.offset : section.offset + section.size])
    if isinstance(limits, Malformed):
        raise _bad_limits(section.offset + limits.offset, str(limits))
    _check_limits(limits, section.offset)
    return limits


def _check_limits(limits: FirmwareLimits, at: int) -> None:
    for name, bound in LIMIT_BOUNDS.items():
        value: int = getattr(limits, name)
        if not bound.allows(value):
            raise _bad_limits(
                at + offset_of(FirmwareLimits, name), f"{name} is {value}, expected {bound}"
            )
    if limits.min_ring_entries > limits.max_ring_entries:
        raise _bad_limits(
            at + offset_of(FirmwareLimits, "min_ring_entries"),
            f"min_ring_entries is {limits.min_ring_entries}, expected at most max_ring_entries"
            f" {limits.max_ring_entries}",
        )
    needed = work_ring_size(limits.max_ring_entries)
    if limits.ring_pool_size < needed:
        raise _bad_limits(
            at + offset_of(FirmwareLimits, "ring_pool_size"),
            f"ring_pool_size is {limits.ring_pool_size}, expected {needed} or more, for one ring of"
            f" {limits.max_ring_entries} entries",
        )


def _bad_limits(detail: int, text: str) -> ImageError:
    return ImageError(BootError.BAD_LIMITS, detail, text)
