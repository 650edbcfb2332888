"""The one error of this room, and what each of its reasons means.

A device that refuses an image publishes the reason in STATUS and the detail in BOOT_DETAIL.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, final

from firmware.abi.registers import BootError

if TYPE_CHECKING:
    from collections.abc import Mapping

_U32_MAX: Final = 0xFFFF_FFFF


@final
class ImageError(Exception):
    """A firmware image was refused.

    `reason` goes into STATUS, `detail` (saturated to 32 bits; `REASONS` says what it is) into
    BOOT_DETAIL. The text says what was found where, and what was expected.
    """

    def __init__(self, reason: BootError, detail: int, message: str) -> None:
        super().__init__(reason, detail, message)
        self.reason = reason
        self.detail = min(detail, _U32_MAX)
        self.message = message

    def __str__(self) -> str:
        return f"firmware image refused ({self.reason.name}): {self.message}"


class Refusal(NamedTuple):
    """What a reason means, and what BOOT_DETAIL then holds."""

    meaning: str
    detail: str


_HEADER = "file offset of the field"
_PROGRAM = "file offset of its program header"

REASONS: Final[Mapping[BootError, Refusal]] = MappingProxyType(
    {
        BootError.NONE: Refusal("No image was refused.", "0"),
        BootError.TRUNCATED: Refusal(
            "The file ends before something that its headers promise.", "size it should have"
        ),
        BootError.NOT_ELF: Refusal("The file does not begin as an ELF does.", "first four bytes"),
        BootError.WRONG_CLASS: Refusal("Not an ELF of 64 bits.", "EI_CLASS"),
        BootError.WRONG_MACHINE: Refusal("Not for RISC-V (EM_RISCV, 243).", "e_machine"),
        BootError.NO_NOTE: Refusal("No PT_NOTE segment holds the ABI note.", "notes seen"),
        BootError.BAD_NOTE: Refusal(
            "A note is garbled, there are two ABI notes, or too many of any kind.",
            "file offset of what is wrong",
        ),
        BootError.WRONG_VERSION: Refusal(
            "The firmware speaks another ABI major version.", "its version, as in ABI_VERSION"
        ),
        BootError.NO_LIMITS: Refusal("There is no section .emuzero.limits.", "sections seen"),
        BootError.BAD_LIMITS: Refusal(
            "A limit is zero, not a power of two, out of bounds, or does not fit another limit.",
            "file offset of the limit",
        ),
        BootError.OVERLAP: Refusal("Two load segments claim one address.", _PROGRAM),
        BootError.OVERSIZED: Refusal(
            "A load segment does not fit into the firmware's memory.", _PROGRAM
        ),
        BootError.NO_ENTRY: Refusal(
            "The entry point is not an instruction of an executable segment.", "e_entry"
        ),
        BootError.NO_SYMBOLS: Refusal(
            "There is no symbol table, or no function in it.", "sections seen"
        ),
        BootError.WRONG_TYPE: Refusal("Not an executable (ET_EXEC, 2).", "e_type"),
        BootError.BAD_SEGMENT: Refusal(
            "A segment is writable and executable, unreadable, misaligned, larger in the file than"
            " in memory, or asks for a dynamic linker.",
            _PROGRAM,
        ),
        BootError.WRONG_ENDIANNESS: Refusal("Not little endian.", "EI_DATA"),
        BootError.BAD_HEADER: Refusal(
            "A header has sizes, counts or names that no firmware image has.", _HEADER
        ),
        BootError.BAD_SYMBOLS: Refusal(
            "The symbol table is malformed, or a function lies outside executable segments.",
            "file offset of the symbol or of the table's section header",
        ),
        BootError.UNSUPPORTED_BEHAVIOUR: Refusal(
            "A good image whose operations the device cannot carry out.", "`Behaviour` of its note"
        ),
    }
)
"""Every reason there is; the errors table of the manual is made from this."""
