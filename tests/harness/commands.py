"""Work commands that many tests submit."""

from __future__ import annotations

from firmware.abi.work import Copy, Fill, WorkFlags


def copy(source: int, destination: int, size: int, tag: int = 0) -> Copy:
    """Return a copy command."""
    return Copy(
        flags=WorkFlags.NONE, tag=tag, source=source, destination=destination, size_bytes=size
    )


def fill(destination: int, size: int, byte: int, tag: int = 0) -> Fill:
    """Return a command that fills with one byte."""
    return Fill(
        flags=WorkFlags.NONE,
        tag=tag,
        destination=destination,
        size_bytes=size,
        pattern=bytes([byte]).ljust(16, b"\0"),
        pattern_size=1,
    )
