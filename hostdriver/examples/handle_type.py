"""Say which kind of IPC handle is wanted, for memory, physical objects and ranges.

Extension: ZE_extension_ipc_mem_handle_type (Level Zero 1.15). Run it, or copy it:

    python handle_type.py

A default handle opens on the machine where it was made. A fabric handle would open on every machine
of a fabric; a device without one refuses, so that programs ask and fall back.
"""

from __future__ import annotations

from hostdriver import levelzero as ze

EXTENSION = "ZE_extension_ipc_mem_handle_type"
DEFAULT = ze.IpcMemHandleTypeExtDesc(ze.IpcMemHandleTypeFlags.DEFAULT)
FABRIC = ze.IpcMemHandleTypeExtDesc(ze.IpcMemHandleTypeFlags.FABRIC_ACCESSIBLE)


def main() -> None:
    """Ask for both kinds, wherever the descriptor may stand."""
    with ze.connect() as driver, driver.create_context() as context:
        device = driver.devices[0]
        assert EXTENSION in {found.name for found in driver.get_extension_properties()}
        page = context.virtual_mem_query_page_size(device, 1 << 16)

        print("A physical object that will be shared by default handles:")
        desc = ze.PhysicalMemDesc(2 * page, p_next=[DEFAULT])
        physical = context.physical_mem_create(device, desc)
        start = context.virtual_mem_reserve(2 * page)
        context.virtual_mem_map(start, 2 * page, physical)

        print("A default handle for the mapping is the one that a call without type gets:")
        handle = context.mem_get_ipc_handle_with_properties(start, [DEFAULT])
        assert handle == context.mem_get_ipc_handle(start)

        print("Type and range go together, in either order of the chain:")
        window = ze.IpcPhysMemHandleRangeExtDesc(page + 1)
        handles = [
            context.mem_get_ipc_handle_with_properties(start + 7, chain)
            for chain in ([DEFAULT, window], [window, DEFAULT])
        ]
        pointer = context.mem_open_ipc_handle(device, handles[0])
        assert context.mem_get_address_range(pointer).size == page + 1
        context.mem_close_ipc_handle(pointer)

        print("A fabric handle needs a fabric, which this device does not have:")
        for chain in ([FABRIC], [FABRIC, window]):
            try:
                context.mem_get_ipc_handle_with_properties(start, chain)
            except ze.ZeError as error:
                assert error.result is ze.ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
                print(f"  {error.result.name}")
            else:
                raise AssertionError(f"a handle was made for {chain}")

        for made in (handle, handle, *handles):  # the first was got twice
            context.mem_put_ipc_handle(made)
        context.virtual_mem_free(start, 2 * page)
        context.physical_mem_destroy(physical)


if __name__ == "__main__":
    main()
