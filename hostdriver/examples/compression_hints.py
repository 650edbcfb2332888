"""Tell the driver which memory is worth compressing; what is stored stays the same.

Extension: ZE_extension_memory_compression_hints (Level Zero 1.3). Run it, or copy it:

    python compression_hints.py

A hint changes how memory may be kept, never what is read from it: a program works the same on a
device that takes the hint and on one that passes it over, as the emulated one does.
"""

from __future__ import annotations

from hostdriver import levelzero as ze

EXTENSION = "ZE_extension_memory_compression_hints"
SIZE = 1 << 20
Hint = ze.MemoryCompressionHintsExtFlags


def main() -> None:
    """Allocate with either hint, and with two hints that contradict each other."""
    with ze.connect() as driver, driver.create_context() as context:
        device = driver.devices[0]
        assert EXTENSION in {found.name for found in driver.get_extension_properties()}

        print("The same data in memory with either hint:")
        pointers: list[int] = []
        for hint in (Hint.COMPRESSED, Hint.UNCOMPRESSED):
            desc = ze.DeviceMemAllocDesc(p_next=[ze.MemoryCompressionHintsExtDesc(hint)])
            pointer = context.mem_alloc_device(device, SIZE, 0, desc)
            context.memory_fill(pointer, b"compress me! ok.", SIZE)
            pointers.append(pointer)
        first, second = (context.memory_read(pointer, SIZE) for pointer in pointers)
        assert first == second == b"compress me! ok." * (SIZE // 16)

        print("Host and shared memory take hints, too, beside other descriptors:")
        chain = [
            ze.IpcMemHandleTypeExtDesc(),
            ze.MemoryCompressionHintsExtDesc(Hint.COMPRESSED),
        ]
        pointers.append(context.mem_alloc_host(SIZE, 0, ze.HostMemAllocDesc(p_next=chain)))
        desc = ze.DeviceMemAllocDesc(p_next=[ze.MemoryCompressionHintsExtDesc(Hint.COMPRESSED)])
        pointers.append(context.mem_alloc_shared(SIZE, 0, device, desc))

        print("Exactly one hint must be given:")
        for wrong in (Hint.COMPRESSED | Hint.UNCOMPRESSED, Hint(0)):
            desc = ze.DeviceMemAllocDesc(p_next=[ze.MemoryCompressionHintsExtDesc(wrong)])
            try:
                context.mem_alloc_device(device, SIZE, 0, desc)
            except ze.ZeError as error:
                assert error.result is ze.ZeResult.ZE_RESULT_ERROR_INVALID_ENUMERATION
                print(f"  {error.result.name}")
            else:
                raise AssertionError(f"{wrong!r} is no hint")

        for pointer in pointers:
            context.mem_free(pointer)


if __name__ == "__main__":
    main()
