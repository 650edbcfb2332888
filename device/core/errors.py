"""How the device says no.

    DeviceError      a request is refused; nothing was changed       -> a reply with its status
    EngineFault      a work command cannot go on at a virtual address -> a fault record
    MemoryFault      an access to memory failed at a physical address -> an EngineFault
    InternalError    a part of the device broke its contract: our bug -> the client's session ends
    InvariantError   `check()` found a contradiction: our bug         -> the device halts

Bytes from a client never raise anything but the first three.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from firmware.abi.faults import NO_LEVEL, FaultReason

if TYPE_CHECKING:
    from firmware.abi.ids import Access
    from firmware.abi.paging import Aperture
    from firmware.abi.status import Status


def hex_address(value: int) -> str:
    """Return an address as people read it: hexadecimal digits in groups of four."""
    return f"0x{value:_x}"


@final
class InvariantError(Exception):
    """`check()` found a block in a state that must not be; the text says which and how."""


@final
class InternalError(Exception):
    """A caller inside the device broke a contract; the text says what was expected and found."""


@final
class DeviceError(Exception):
    """A request is refused. Raised before anything is changed.

    Attributes:
        status: what the reply says.
        detail: number that goes with the status (see `Status`).
        expected: what `detail` should have been, where that makes sense.
    """

    def __init__(self, status: Status, detail: int = 0, expected: int = 0) -> None:
        super().__init__(status, detail, expected)
        self.status = status
        self.detail = detail
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.status.name}: detail {self.detail:#x}, expected {self.expected:#x}"


@final
class EngineFault(Exception):
    """A work command cannot go on. What it moved before that stays moved.

    Attributes:
        reason: why.
        va: first virtual address that could not be accessed.
        access: what was wanted there.
        level: page-table level of `entry`; `NO_LEVEL` if no walk was made.
        entry: page-table entry as it was read; zero if none was reached.
        detail: a further number of the reason.
    """

    def __init__(
        self,
        reason: FaultReason,
        va: int,
        access: Access,
        level: int = NO_LEVEL,
        entry: int = 0,
        detail: int = 0,
    ) -> None:
        super().__init__(reason, va, access, level, entry, detail)
        self.reason = reason
        self.va = va
        self.access = access
        self.level = level
        self.entry = entry
        self.detail = detail

    def __str__(self) -> str:
        where = "" if self.level == NO_LEVEL else f", level {self.level} entry {self.entry:#018x}"
        what = self.access.name or "NONE"
        return f"{self.reason.name}: {what} at va {hex_address(self.va)}{where}"


@final
class MemoryFault(Exception):
    """An access to physical memory failed. Never leaves the device: engines make it a fault.

    Attributes:
        reason: POISON, BAD_APERTURE, CLIENT_MEMORY or RIGHTS.
        aperture: memory that `address` counts in.
        address: first byte that could not be accessed.
        access: READ or WRITE.
        va: virtual address of that byte where the caller's extents tell it, else None.
    """

    def __init__(
        self,
        reason: FaultReason,
        aperture: Aperture,
        address: int,
        access: Access,
        va: int | None = None,
    ) -> None:
        super().__init__(reason, aperture, address, access, va)
        self.reason = reason
        self.aperture = aperture
        self.address = address
        self.access = access
        self.va = va

    def __str__(self) -> str:
        what = self.access.name or "NONE"
        where = f"{self.aperture.name} address {hex_address(self.address)}"
        behind = "" if self.va is None else f" (va {hex_address(self.va)})"
        return f"{self.reason.name}: {what} at {where}{behind}"
