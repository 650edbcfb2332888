"""Copies and fills of device-visible memory for a caller who waits until they are done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.abi.work import Copy, Fill, WorkFlags
from hostdriver.core.lanes import HALF, Borrowed, finish, run, stage_of
from hostdriver.core.questions import LoadBytes, StoreBytes

if TYPE_CHECKING:
    from hostdriver.core.lanes import Lane
    from hostdriver.core.state import DeviceState, DriverState

_PATTERN_ROOM: Final = 16


def copy_command(destination: int, source: int, size: int) -> Copy:
    """Return the command that copies `size` bytes between virtual addresses."""
    return Copy(
        flags=WorkFlags.NONE, tag=0, source=source, destination=destination, size_bytes=size
    )


async def copy(
    state: DriverState, device: DeviceState, destination: int, source: int, size: int
) -> None:
    """Copy between two ranges of the device's address space, as memmove does.

    Raises:
        ZeError: an address faulted (bytes before it may be copied), or the device is lost.
    """
    doing = f"copy of {size:#x} bytes from {source:#x} to {destination:#x}"
    async with Borrowed(state, device) as lane:
        seqno = await run(device, lane, copy_command(destination, source, size))
        await finish(device, lane, seqno, doing)


async def fill(
    state: DriverState, device: DeviceState, destination: int, pattern: bytes, size: int
) -> None:
    """Fill a range with a pattern of 1, 2, 4, 8 or 16 bytes.

    Raises:
        ZeError: an address faulted (bytes before it may be filled), or the device is lost.
    """
    command = Fill(
        flags=WorkFlags.NONE,
        tag=0,
        destination=destination,
        size_bytes=size,
        pattern=pattern.ljust(_PATTERN_ROOM, b"\0"),
        pattern_size=len(pattern),
    )
    async with Borrowed(state, device) as lane:
        seqno = await run(device, lane, command)
        await finish(device, lane, seqno, f"fill of {size:#x} bytes at {destination:#x}")


async def write(
    state: DriverState, device: DeviceState, destination: int, data: memoryview
) -> None:
    """Copy bytes of the caller to a virtual address, through both halves of staging memory.

    Raises:
        ZeError: an address faulted (bytes before it may be written), or the device is lost.
    """
    doing = f"write of {data.nbytes:#x} bytes to {destination:#x}"
    async with Borrowed(state, device) as lane:
        stage = await stage_of(state, device, lane)
        last = [0, 0]
        for number, offset in enumerate(range(0, data.nbytes, HALF)):
            side = number & 1
            half = stage + side * HALF
            # The half is free again when the copy that read it is done.
            await finish(device, lane, last[side], doing)
            part = data[offset : offset + HALF]
            await StoreBytes(half, part)
            last[side] = await run(
                device, lane, copy_command(destination + offset, half, part.nbytes)
            )
        await finish(device, lane, max(last), doing)


async def read(state: DriverState, device: DeviceState, source: int, into: memoryview) -> None:
    """Copy bytes at a virtual address to the caller, through both halves of staging memory.

    Raises:
        ZeError: an address faulted (`into` may be filled in part), or the device is lost.
    """
    doing = f"read of {into.nbytes:#x} bytes at {source:#x}"
    offsets = range(0, into.nbytes, HALF)
    async with Borrowed(state, device) as lane:
        stage = await stage_of(state, device, lane)
        seqnos = [
            await _fetch(device, lane, stage, source, number, into.nbytes)
            for number in range(min(2, len(offsets)))
        ]
        for number, offset in enumerate(offsets):
            await finish(device, lane, seqnos[number], doing)
            part = into[offset : offset + HALF]
            await LoadBytes(stage + (number & 1) * HALF, part)
            if number + 2 < len(offsets):
                seqnos.append(await _fetch(device, lane, stage, source, number + 2, into.nbytes))


async def _fetch(
    device: DeviceState, lane: Lane, stage: int, source: int, number: int, total: int
) -> int:
    """Start the copy of one part of `source` into its half; return the command's number."""
    offset = number * HALF
    size = min(HALF, total - offset)
    half = stage + (number & 1) * HALF
    return await run(device, lane, copy_command(half, source + offset, size))
