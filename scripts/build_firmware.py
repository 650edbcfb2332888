#!/usr/bin/env python3
"""Builds the reference firmware image: build_firmware.py [--output FILE] [--check].

Shows what the image holds, as the device's own reader sees it. `--output` also writes it to a file;
with `--check` nothing is written, and a file that is missing or holds other bytes is a failure.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # when it is run by its path

from scripts import environment

environment.enter()

from firmware.abi.boot import FirmwareLimits  # noqa: E402
from firmware.image import FirmwareImage, SegmentFlags, load, reference_image  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator


def describe(image: FirmwareImage) -> Iterator[str]:
    """Yield the lines that tell what an image holds."""
    note = image.note
    yield f"firmware  {image.name} {image.version}"
    yield f"abi       {note.abi_major}.{note.abi_minor}, behaviour {note.behaviour.name}"
    yield f"features  {' '.join(str(feature.name) for feature in note.features)}"
    yield f"entry     {image.entry:#_x} {image.symbolise(image.entry)}"
    for segment in image.segments:
        rights = "".join(
            letter if segment.flags & flag else "-"
            for letter, flag in (
                ("R", SegmentFlags.READ),
                ("W", SegmentFlags.WRITE),
                ("X", SegmentFlags.EXECUTE),
            )
        )
        yield (
            f"segment   {segment.address:#_x} {rights} {segment.memory_size:5} bytes,"
            f" {len(segment.data)} from the file"
        )
    for field in FirmwareLimits.FIELDS:
        yield f"limit     {field.name} {getattr(image.limits, field.name)}"
    functions = len(image.symbols.functions())
    yield f"symbols   {len(image.symbols.symbols)}, {functions} of them functions"


def main() -> int:
    """Build, show and write or compare the image; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, metavar="FILE", help="where the image goes")
    parser.add_argument("--check", action="store_true", help="compare FILE, write nothing")
    arguments = parser.parse_args()
    output: Path | None = arguments.output
    data = reference_image()
    digest = hashlib.sha256(data).hexdigest()
    if output is not None and arguments.check:
        if not output.is_file() or output.read_bytes() != data:
            print(f"{output} is not the reference image (sha256 {digest})", file=sys.stderr)
            return 1
    elif output is not None:
        output.write_bytes(data)
    print(f"image     {len(data)} bytes, sha256 {digest}")
    for line in describe(load(data)):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
