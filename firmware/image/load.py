"""The reader: bytes of a file in, a verified `FirmwareImage` or `ImageError` out.

Nothing in the file is believed before it is checked: work and memory are bounded by the limits of
`layout` and by the size of the firmware's memory, whatever counts and offsets a file claims.
"""

from __future__ import annotations

from firmware.image._contract import find_limits, find_note
from firmware.image._header import read_header
from firmware.image._segments import Memory, check_entry, load_segments
from firmware.image._symbols import find_symbols
from firmware.image._tables import read_program_headers, read_sections, section_names
from firmware.image.image import FirmwareImage
from firmware.image.layout import MEMORY_BASE, MEMORY_SIZE


def load(data: bytes, *, memory_size: int = MEMORY_SIZE, base: int = MEMORY_BASE) -> FirmwareImage:
    """Return the firmware image in `data`.

    Checks go from the outside in: header, segments, entry point, note, limits, symbols. The first
    that fails decides the error.

    Args:
        data: the whole file.
        memory_size: size of the firmware's memory in bytes.
        base: its first address.

    Raises:
        ImageError: the file is no firmware image that this device could run; reason and detail are
            those of the registers STATUS and BOOT_DETAIL.
    """
    header = read_header(data)
    programs = read_program_headers(data, header)
    segments = load_segments(data, programs, Memory(base, memory_size))
    check_entry(header.entry, segments)
    note = find_note(data, programs)
    sections = read_sections(data, header)
    limits = find_limits(data, sections, section_names(data, header, sections))
    symbols = find_symbols(data, sections, segments)
    return FirmwareImage(header.entry, segments, note, limits, symbols)
