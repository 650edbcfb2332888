"""Let the device work on memory that the application has already, without a copy.

Extension: ZE_extension_external_memmap_sysmem (Level Zero 1.14). Run it, or copy it:

    python external_memory.py

A frame of video, say, comes from a decoder into an array of the application. Instead of copying it
into an allocation, the array itself becomes one. A copy engine stands in for the kernel here.
"""

from __future__ import annotations

import os

import numpy as np

from hostdriver import levelzero as ze

EXTENSION = "ZE_extension_external_memmap_sysmem"
PAGE = os.sysconf("SC_PAGE_SIZE")
SIZE = 64 * PAGE


def aligned_array(size: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Return bytes that begin on a page, as aligned_alloc would."""
    room = np.zeros(size + PAGE, np.uint8)
    first = -room.ctypes.data % PAGE
    return room[first : first + size]


def main() -> None:
    """Map an array, work on it from both sides, and take it back."""
    with ze.connect() as driver, driver.create_context() as context:
        device = driver.devices[0]
        assert EXTENSION in {found.name for found in driver.get_extension_properties()}
        frame = aligned_array(SIZE)
        frame[:] = np.arange(SIZE) % 251

        print(f"The application's array of {SIZE:,} bytes becomes a host allocation:")
        system_memory = ze.ExternalMemmapSysmemExtDesc(frame.ctypes.data, SIZE)
        pointer = context.mem_alloc_host(SIZE, PAGE, ze.HostMemAllocDesc(p_next=[system_memory]))
        assert pointer == frame.ctypes.data
        print("The pointer is the array's own address. The device fills half of the array:")
        context.memory_fill(pointer + SIZE // 2, b"\xff", SIZE // 2)
        assert (frame[SIZE // 2 :] == 0xFF).all()
        assert (frame[: SIZE // 2] == np.arange(SIZE // 2) % 251).all()

        print("The CPU has seen it. Now the CPU stores, and the device reads what it stored:")
        frame[:4] = (1, 2, 3, 4)
        elsewhere = context.mem_alloc_device(device, SIZE)
        context.memory_copy(elsewhere, pointer, SIZE)
        assert context.memory_read(elsewhere, 4) == bytes((1, 2, 3, 4))

        print("What does not begin on a page, or overlaps what is mapped already, is refused:")
        for start in (frame.ctypes.data + 1, frame.ctypes.data):
            bad = ze.ExternalMemmapSysmemExtDesc(start, PAGE)
            try:
                context.mem_alloc_host(PAGE, 0, ze.HostMemAllocDesc(p_next=[bad]))
            except ze.ZeError as error:
                print(f"  {error.result.name}")
            else:
                raise AssertionError(f"{bad} was mapped")

        print("Freeing ends the mapping; the array stays the application's, with all it holds:")
        context.mem_free(pointer)
        context.mem_free(elsewhere)
        assert bytes(frame[:4]) == bytes((1, 2, 3, 4))
        assert (frame[SIZE // 2 :] == 0xFF).all()


if __name__ == "__main__":
    main()
