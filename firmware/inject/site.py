"""A site: where and for whom a point was just reached."""

from __future__ import annotations

from typing import NamedTuple


class Site(NamedTuple):
    """What a point knows when it is reached; what it does not know stays as it is here."""

    device: int = -1
    """Index of the device."""
    pid: int = 0
    """The process that it is for: of the client, or of the program."""
    process: str = ""
    """The name that process gave itself."""
    ring: str = ""
    """`control`, or `work` and the number of the queue: `work3`."""
    opcode: str = ""
    """Name of the command."""
    address: int = -1
    """First address: of VRAM at points on memory, else a virtual address of device or program."""
    size: int = 0
    """Bytes that it is about; `space` counts them."""
    object: int = 0
    """Number of the memory object, export or queue."""
    call: str = ""
    """API function that is being carried out."""
    thread: int = 0
    """The program's thread."""
    level: int = -1
    """Level of a page table, 0 is the leaf."""
    driver: int = 0
    """The how-many-th driver of its name in a process of its own; 0: one in the emulator, or none
    that anybody told apart."""
