"""Numbers that both sides share: page sizes, address width, ABI version and features."""

from enum import IntFlag
from typing import Final

ABI_MAJOR: Final = 1
"""Changes when old and new cannot understand each other; both sides must have the same."""
ABI_MINOR: Final = 0
"""Grows with additions; the lower of both sides' numbers is what they speak."""

PAGE_SHIFT: Final = 12
"""Bits of an address inside its page."""
PAGE_SIZE: Final = 1 << PAGE_SHIFT
"""Smallest page and size of a VRAM frame, in bytes."""
VA_BITS: Final = 48
"""Bits of a GPU virtual address."""
VA_LIMIT: Final = 1 << VA_BITS
"""First GPU virtual address that does not exist."""
BUS_LIMIT: Final = 1 << VA_BITS
"""First bus address that does not exist."""
CACHE_LINE: Final = 64
"""Words of different writers stand this many bytes apart."""
WORK_COMMAND_SIZE: Final = 64
"""Size of an entry of a work ring in bytes."""
CONTROL_MESSAGE_SIZE: Final = 64
"""Size of a control command and of a reply in bytes."""


class Feature(IntFlag):
    """Optional parts of the contract; both sides use what both have (the intersection)."""

    EVENT_INDEX = 1
    """Notification suppression by event index (`needs_notify`)."""
    CLIENT_MEMORY = 2
    """The device reaches the client's own pages (imports, client-memory operands)."""
    IPC_RANGES = 4
    """EXPORT accepts windows over several objects."""
    COPY_REGIONS = 8
    """Two- and three-dimensional copies."""
    TIMESTAMPS = 16
    """Fence slots and TIMESTAMP_WRITE carry device time."""
    PEER_ACCESS = 32
    """Page-table entries may point into a peer device's memory."""


class Rights(IntFlag):
    """What a mapping permits."""

    NONE = 0
    """No access."""
    READ = 1
    """Loads."""
    WRITE = 2
    """Stores."""
    ATOMIC = 4
    """Atomic operations."""


READ_WRITE: Final = Rights.READ | Rights.WRITE
ALL_RIGHTS: Final = Rights.READ | Rights.WRITE | Rights.ATOMIC


class PageSizes(IntFlag):
    """Leaf sizes that a device supports, as a bit mask of byte counts."""

    SMALL = 1 << 12
    """4 KiB."""
    MEDIUM = 1 << 16
    """64 KiB."""
    LARGE = 1 << 21
    """2 MiB."""
    HUGE = 1 << 30
    """1 GiB."""


class Access(IntFlag):
    """What an engine wanted to do when it faulted."""

    READ = 1
    """Load."""
    WRITE = 2
    """Store."""
    ATOMIC = 4
    """Atomic operation."""
    FETCH = 8
    """Reading a command from a ring."""
