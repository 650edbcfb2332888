"""The register page of a segment: 4 KiB, one for each client, published by the device.

In shared memory nothing traps: the device takes host stores to writable registers at the next
doorbell, and never reads back what it publishes in the others.
"""

from enum import Enum, IntEnum
from typing import Final, NamedTuple

from firmware.abi._wire import U32, U64, Scalar
from firmware.abi._word import Word, bit, bits, choice

REGISTER_PAGE_SIZE: Final = 4096
"""Size of the register page in bytes."""


class RegisterAccess(Enum):
    """Who may store into a register."""

    RO = "read only for the host"
    RW = "host may store"
    RW1C = "host clears a bit by storing one"


class Phase(IntEnum):
    """Phases of the device's life."""

    RESET = 0
    """Powered, no firmware."""
    BOOT = 1
    """A firmware image was refused; `boot_error` says why. Stays here until a good one comes."""
    RUNNING = 2
    """Firmware runs; clients may attach."""
    DRAINING = 3
    """Finishes work in flight, takes no new clients."""
    HALTED = 4
    """Stopped by an internal error."""


class BootError(IntEnum):
    """Why a firmware image was refused; `firmware.image.errors` tells what BOOT_DETAIL holds."""

    NONE = 0
    """No image was refused."""
    TRUNCATED = 1
    """The file ends before something that its headers promise."""
    NOT_ELF = 2
    """The file does not begin as an ELF does."""
    WRONG_CLASS = 3
    """Not an ELF of 64 bits."""
    WRONG_MACHINE = 4
    """Not for RISC-V."""
    NO_NOTE = 5
    """No segment holds the ABI note."""
    BAD_NOTE = 6
    """The ABI note is malformed."""
    WRONG_VERSION = 7
    """Speaks another ABI major version."""
    NO_LIMITS = 8
    """No section holds the limits."""
    BAD_LIMITS = 9
    """The limits are malformed or contradict each other."""
    OVERLAP = 10
    """Two segments claim the same address."""
    OVERSIZED = 11
    """A segment does not fit into the firmware's memory."""
    NO_ENTRY = 12
    """The entry point is not code."""
    NO_SYMBOLS = 13
    """No symbol table."""
    WRONG_TYPE = 14
    """Not an executable with fixed addresses."""
    BAD_SEGMENT = 15
    """A segment with rights, alignment or sizes that cannot be."""
    WRONG_ENDIANNESS = 16
    """Not little endian."""
    BAD_HEADER = 17
    """A header or table of the file is malformed."""
    BAD_SYMBOLS = 18
    """The symbol table is malformed."""
    UNSUPPORTED_BEHAVIOUR = 19
    """A good image whose operations this device cannot carry out."""


class DeviceStatus(Word, width=32):
    """Register STATUS."""

    phase = choice(3, 0, Phase, "Phase of the device.")
    boot_error = choice(11, 4, BootError, "Why the last firmware image was refused.")
    client_lost = bit(12, "This client's session ended (device reset or internal error).")
    poison = bit(13, "Uncorrectable memory errors were found since boot.")


class FaultStatus(Word, width=32):
    """Register FAULT_STATUS.

    The host clears `pending` and `overflow` (with `dropped`) by storing ones in them together with
    `acknowledge`, then empties the fault ring.
    """

    pending = bit(0, "At least one fault record was written since the host cleared this bit.")
    overflow = bit(1, "Fault records were dropped because the fault ring was full.")
    acknowledge = bit(15, "Set in a store of the host, which only then clears bits.")
    dropped = bits(31, 16, "How many, saturating.")


class AbiVersion(Word, width=32):
    """Register ABI_VERSION."""

    minor = bits(15, 0, "Minor version.")
    major = bits(31, 16, "Major version.")


class Register(NamedTuple):
    """One register: where, who may store, which bits, what it means, value after reset."""

    name: str
    offset: int
    scalar: Scalar[int]
    access: RegisterAccess
    word: type[Word] | None
    doc: str
    reset: int = 0


def _register(
    name: str,
    offset: int,
    scalar: Scalar[int],
    access: RegisterAccess,
    doc: str,
    word: type[Word] | None = None,
) -> Register:
    return Register(name, offset, scalar, access, word, doc)


def register_map(*registers: Register) -> tuple[Register, ...]:
    """Return the registers of one page, by offset.

    Raises:
        TypeError: a register that is not aligned, overlaps the one before, leaves the page or whose
            word has another width.
    """
    end = 0
    for register in registers:
        at, size = register.offset, register.scalar.size
        where = f"register {register.name} at {at:#x}"
        if at % size:
            raise TypeError(f"{where} is not aligned to {size}")
        if at < end or at + size > REGISTER_PAGE_SIZE:
            raise TypeError(f"{where} overlaps its neighbour or leaves the page")
        width = size * 8 if register.word is None else register.word.WIDTH
        if width != size * 8:
            raise TypeError(f"{where} has {size * 8} bits, its word {width}")
        end = at + size
    return registers


RO, RW, RW1C = RegisterAccess.RO, RegisterAccess.RW, RegisterAccess.RW1C
DEVICE_ID: Final = _register("DEVICE_ID", 0x000, U32, RO, "PCI device << 16 | vendor.")
ABI_VERSION: Final = _register("ABI_VERSION", 0x004, U32, RO, "Agreed version.", AbiVersion)
FEATURES: Final = _register("FEATURES", 0x008, U64, RO, "Agreed features (`Feature`).")
STATUS: Final = _register("STATUS", 0x010, U32, RO, "Phase and boot error.", DeviceStatus)
BOOT_DETAIL: Final = _register("BOOT_DETAIL", 0x014, U32, RO, "Offset or value that was refused.")
RESET_REQUEST: Final = _register(
    "RESET_REQUEST", 0x018, U32, RW, "Host stores a new value and rings: the device resets."
)
RESET_COUNT: Final = _register("RESET_COUNT", 0x01C, U32, RO, "Resets since the emulator began.")
CLOCK: Final = _register("CLOCK", 0x020, U64, RO, "Device time of the last work, nanoseconds.")
FAULT_STATUS: Final = _register(
    "FAULT_STATUS", 0x028, U32, RW1C, "Summary of the fault ring.", FaultStatus
)
SPIN_HINT: Final = _register(
    "SPIN_HINT", 0x02C, U32, RO, "1: waiters may spin; 0: sleep at once (the device has one CPU)."
)
DEVICE_ASLEEP: Final = _register(
    "DEVICE_ASLEEP", 0x030, U32, RO, "1 while the device sleeps and needs the doorbell eventfd."
)
FREE_MEMORY: Final = _register("FREE_MEMORY", 0x038, U64, RO, "Free device memory in bytes.")

REGISTERS: Final = register_map(
    DEVICE_ID,
    ABI_VERSION,
    FEATURES,
    STATUS,
    BOOT_DETAIL,
    RESET_REQUEST,
    RESET_COUNT,
    CLOCK,
    FAULT_STATUS,
    SPIN_HINT,
    DEVICE_ASLEEP,
    FREE_MEMORY,
)
"""The register map, by offset."""
