"""Allocate more in one piece than the device allows by default.

Extension: ZE_extension_relaxed_allocation_limits (Level Zero 1.17). Run it, or copy it:

    python relaxed_limits.py

`max_mem_alloc_size` bounds one allocation, so that programs keep to sizes which kernels address
with 32 bits. Whoever knows better says so in a descriptor, for this one allocation.
"""

from __future__ import annotations

from hostdriver import levelzero as ze

EXTENSION = "ZE_extension_relaxed_allocation_limits"
RELAXED = ze.RelaxedAllocationLimitsExtDesc(ze.RelaxedAllocationLimitsExtFlags.MAX_SIZE)
ENDS = b"both ends are there"


def main() -> None:
    """Allocate one page more than the limit, without and with the descriptor."""
    with ze.connect() as driver, driver.create_context() as context:
        device = driver.devices[0]
        assert EXTENSION in {found.name for found in driver.get_extension_properties()}
        total = device.get_memory_properties()[0].total_size
        limit = device.get_properties().max_mem_alloc_size
        assert limit < total, "this device allocates all its memory in one piece anyway"
        size = limit + context.virtual_mem_query_page_size(device, 1 << 16)

        print("The limit and a page more is refused, as is the descriptor without its flag:")
        for desc in (
            ze.DeviceMemAllocDesc(),
            ze.DeviceMemAllocDesc(p_next=[ze.RelaxedAllocationLimitsExtDesc()]),
        ):
            try:
                context.mem_alloc_device(device, size, 0, desc)
            except ze.ZeError as error:
                assert error.result is ze.ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_SIZE
                print(f"  {error.result.name}")
            else:
                raise AssertionError(f"{size:#x} bytes with {desc}")

        print("With MAX_SIZE it is one allocation:")
        desc = ze.DeviceMemAllocDesc(p_next=[RELAXED])
        pointer = context.mem_alloc_device(device, size, 0, desc)
        assert context.mem_get_address_range(pointer) == (pointer, size)
        for place in (pointer, pointer + size - len(ENDS)):
            context.memory_write(place, ENDS)
            assert context.memory_read(place, len(ENDS)) == ENDS
        context.mem_free(pointer)

        print("What the device has remains the limit of all limits:")
        try:
            context.mem_alloc_device(device, 2 * total, 0, desc)
        except ze.ZeError as error:
            print(f"  {error.result.name}")
        else:
            raise AssertionError("twice the memory of the device was allocated")


if __name__ == "__main__":
    main()
