"""Free memory while a device still works with it: wait for the work, or let the work take it along.

Extension: ZE_extension_memory_free_policies, function zeMemFreeExt (Level Zero 1.3). Run it, or
copy it:

    python free_policy.py

A second thread has the device copy a large buffer. The first one frees the source meanwhile.
"""

from __future__ import annotations

import threading
import time

from hostdriver import levelzero as ze

EXTENSION = "ZE_extension_memory_free_policies"
SIZE = 32 << 20
Policy = ze.DriverMemoryFreePolicyExtFlags


class Copy:
    """A copy that has begun, made by a thread of its own."""

    def __init__(self, context: ze.Context) -> None:
        self._context = context
        self.source = context.mem_alloc_host(SIZE)
        self._destination = context.mem_alloc_host(SIZE)
        context.memory_fill(self.source, b"\xab", SIZE)
        self._copied = context.host_view(self._destination, SIZE)
        self._thread = threading.Thread(
            target=context.memory_copy, args=(self._destination, self.source, SIZE)
        )
        self._thread.start()
        while not self._copied[0]:  # the device stores where the CPU looks
            time.sleep(0)

    def is_done(self) -> bool:
        """Return whether the last byte has arrived."""
        return self._copied[SIZE - 1] == 0xAB

    def finish(self) -> None:
        """Wait until it is done, check every byte, and free the destination."""
        self._thread.join()
        assert self._copied == b"\xab" * SIZE
        self._context.mem_free(self._destination)


def main() -> None:
    """Free by every policy that the driver has."""
    with ze.connect() as driver, driver.create_context() as context:
        assert EXTENSION in {found.name for found in driver.get_extension_properties()}

        print("A blocking free returns when the copy is done:")
        copy = Copy(context)
        context.mem_free_ext(ze.MemoryFreeExtDesc(Policy.BLOCKING_FREE), copy.source)
        assert copy.is_done()
        copy.finish()

        print("A deferred free returns at once. The copy goes on, and takes the memory along:")
        copy = Copy(context)
        context.mem_free_ext(ze.MemoryFreeExtDesc(Policy.DEFER_FREE), copy.source)
        copy.finish()

        print("Without a policy memory is freed immediately, and never under work that uses it:")
        copy = Copy(context)
        context.mem_free_ext(ze.MemoryFreeExtDesc(), copy.source)
        copy.finish()

        print("However it was freed, the pointer is no memory of the driver any more:")
        kind = context.mem_get_alloc_properties(copy.source).type
        assert kind is ze.MemoryType.UNKNOWN
        try:
            context.mem_free_ext(ze.MemoryFreeExtDesc(), copy.source)
        except ze.ZeError as error:
            print(f"  {error.result.name}")
        else:
            raise AssertionError("memory was freed twice")


if __name__ == "__main__":
    main()
