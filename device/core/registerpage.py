"""The register page of one client's segment: what the device publishes, what the host stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from firmware.abi.ids import ABI_MAJOR
from firmware.abi.registers import (
    ABI_VERSION,
    BOOT_DETAIL,
    CLOCK,
    DEVICE_ASLEEP,
    DEVICE_ID,
    FEATURES,
    FREE_MEMORY,
    RESET_COUNT,
    RESET_REQUEST,
    SPIN_HINT,
    STATUS,
    AbiVersion,
    DeviceStatus,
)

if TYPE_CHECKING:
    from firmware.abi.segment import Superblock
    from firmware.link.words import Words


@final
class RegisterPage:
    """Publishes registers by single stores and takes host stores to RESET_REQUEST.

    Owner: the client. Invariant: what the host scribbles over a register that it may not store to
    changes nothing in the device, which never reads it, and is gone at the next publication.
    FAULT_STATUS belongs to the client's fault ring.
    """

    __slots__ = ("_base", "_clock_at", "_reset_request", "_reset_request_at", "_u32", "_u64")

    def __init__(self, words: Words, layout: Superblock, device_id: int) -> None:
        """Publish what never changes: identity, version, features."""
        self._base = layout.registers_offset
        self._u32 = words.u32
        self._u64 = words.u64
        self._clock_at = (self._base + CLOCK.offset) >> 3
        self._reset_request_at = (self._base + RESET_REQUEST.offset) >> 2
        self._reset_request = 0
        version = AbiVersion.build(major=ABI_MAJOR, minor=layout.abi_minor)
        self._store32(DEVICE_ID.offset, device_id)
        self._store32(ABI_VERSION.offset, int(version))
        self._store64(FEATURES.offset, int(layout.features))
        self._store32(RESET_REQUEST.offset, 0)

    def publish_status(self, status: DeviceStatus, boot_detail: int, reset_count: int) -> None:
        """Store STATUS last: who sees the new phase reads the rest that belongs to it."""
        self._store32(BOOT_DETAIL.offset, boot_detail)
        self._store32(RESET_COUNT.offset, reset_count)
        self._store32(STATUS.offset, int(status))

    def publish_free_memory(self, free_bytes: int) -> None:
        """Store the free device memory."""
        self._store64(FREE_MEMORY.offset, free_bytes)

    def publish_spin_hint(self, *, spin: bool) -> None:
        """Store whether waiters may spin."""
        self._store32(SPIN_HINT.offset, int(spin))

    def publish_asleep(self, *, asleep: bool) -> None:
        """Store whether the device needs the doorbell eventfd to wake up."""
        self._store32(DEVICE_ASLEEP.offset, int(asleep))

    def at_doorbell(self, now: int) -> bool:
        """Publish the device time of this work and look at RESET_REQUEST.

        Returns:
            Whether the host stored a new value there since the last call.
        """
        self._u64[self._clock_at] = now
        stored = self._u32[self._reset_request_at]
        if stored == self._reset_request:
            return False
        self._reset_request = stored
        return True

    @property
    def wants_reset(self) -> bool:
        """Whether the host has stored a new RESET_REQUEST that `at_doorbell` has not seen yet."""
        return self._u32[self._reset_request_at] != self._reset_request

    def _store32(self, offset: int, value: int) -> None:
        self._u32[(self._base + offset) >> 2] = value

    def _store64(self, offset: int, value: int) -> None:
        self._u64[(self._base + offset) >> 3] = value
