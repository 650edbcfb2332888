"""Records inside a firmware image: its ABI note and its limits."""

from enum import IntEnum
from typing import Final

from firmware.abi._record import Record, open_flags, wire
from firmware.abi._wire import U16, U32, U64, raw
from firmware.abi.ids import Feature

NOTE_NAME: Final = "emuzero"
"""Owner of the ABI note."""
NOTE_TYPE: Final = 0x454D5A01
"""Type of the ABI note."""
NOTE_SECTION: Final = ".note.emuzero"
"""Section that holds the note."""
LIMITS_SECTION: Final = ".emuzero.limits"
"""Section that holds `FirmwareLimits`."""


class Behaviour(IntEnum):
    """Who carries out the firmware's operations."""

    REFERENCE = 0
    """The reference firmware of the device model; the image's code is not executed."""
    RISCV = 1
    """The image's own RISC-V code."""


class FirmwareNote(Record, size=80):
    """Descriptor of the image's ABI note."""

    abi_major: int = wire(U16, "ABI major version that the firmware speaks.")
    abi_minor: int = wire(U16, "ABI minor version.")
    behaviour: Behaviour = wire(U32, "Who carries out its operations.", kinds=Behaviour)
    features: Feature = open_flags(U64, "Features that it offers.", flags=Feature)
    name: bytes = wire(raw(32), "Name, UTF-8, zero padded.")
    version: bytes = wire(raw(32), "Version, UTF-8, zero padded.")


class FirmwareLimits(Record, size=64):
    """Ring and queue limits of the firmware; the device uses the lower of these and its own."""

    control_ring_entries: int = wire(U32, "Entries of control and reply ring, a power of two.")
    fault_ring_entries: int = wire(U32, "Entries of the fault ring, a power of two.")
    min_ring_entries: int = wire(U32, "Smallest work ring, a power of two.")
    max_ring_entries: int = wire(U32, "Largest work ring, a power of two.")
    max_queues: int = wire(U32, "Work queues a client may have.")
    max_clients: int = wire(U32, "Clients at a time.")
    max_spaces: int = wire(U32, "Address spaces a client may have.")
    max_objects: int = wire(U32, "Objects a client may have.")
    fence_count: int = wire(U32, "Fence slots of a client.")
    payload_size: int = wire(U32, "Payload area of a segment in bytes, a multiple of 4 KiB.")
    ring_pool_size: int = wire(U32, "Work-ring pool of a segment in bytes, a multiple of 4 KiB.")
