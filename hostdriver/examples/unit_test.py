"""Test code that uses Level Zero without a GPU, an emulator process or a wait.

    python -m pytest unit_test.py        or        python unit_test.py

`hostdriver.testing` has devices and drivers in one process: real page tables, copies, faults and
error codes, a few milliseconds a test, the same in every run.
"""

from __future__ import annotations

from hostdriver import levelzero as ze
from hostdriver.testing.pair import DeviceSpec, pair


class Mailbox:
    """The code under test: one message in device memory, for whoever is given the handle."""

    SIZE = 1 << 20

    def __init__(self, context: ze.Context, device: ze.Device) -> None:
        self._context = context
        self._pointer = context.mem_alloc_device(device, self.SIZE)
        self.handle = context.mem_get_ipc_handle(self._pointer)

    def put(self, message: bytes) -> None:
        """Store a message, its length first."""
        self._context.memory_write(self._pointer, len(message).to_bytes(4, "little") + message)

    def close(self) -> None:
        """Give the memory back."""
        self._context.mem_put_ipc_handle(self.handle)
        self._context.mem_free(self._pointer)


def read_mailbox(context: ze.Context, device: ze.Device, handle: bytes) -> bytes:
    """Return the message in somebody else's mailbox."""
    pointer = context.mem_open_ipc_handle(device, handle)
    try:
        size = int.from_bytes(context.memory_read(pointer, 4), "little")
        return context.memory_read(pointer + 4, size)
    finally:
        context.mem_close_ipc_handle(pointer)


def test_another_program_reads_the_message() -> None:
    """Two programs, as two processes would be: nothing is shared but the device."""
    with pair() as p:
        mailbox = Mailbox(p.driver.create_context(), p.driver.devices[0])
        mailbox.put(b"hello")
        other = p.connect("reader")

        message = read_mailbox(other.create_context(), other.devices[0], mailbox.handle)

        assert message == b"hello"
        mailbox.close()
        p.assert_nothing_left()  # names whatever was forgotten


def test_a_closed_mailbox_cannot_be_opened() -> None:
    """Errors are those of the specification."""
    with pair() as p:
        context, device = p.driver.create_context(), p.driver.devices[0]
        mailbox = Mailbox(context, device)
        mailbox.close()

        try:
            read_mailbox(context, device, mailbox.handle)
        except ze.ZeError as error:
            assert error.result is ze.ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT
        else:
            raise AssertionError("a handle that was put back opens")


def test_a_full_device_says_so() -> None:
    """Any device can be had: here one with room for a mailbox and a half."""
    with pair(DeviceSpec(vram_size=Mailbox.SIZE * 3 // 2)) as p:
        context, device = p.driver.create_context(), p.driver.devices[0]
        mailbox = Mailbox(context, device)
        try:
            Mailbox(context, device)
        except ze.ZeError as error:
            assert error.result is ze.ZeResult.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
        else:
            raise AssertionError("two mailboxes fit into one and a half")
        mailbox.close()
        p.assert_nothing_left()


if __name__ == "__main__":
    for test in (
        test_another_program_reads_the_message,
        test_a_closed_mailbox_cannot_be_opened,
        test_a_full_device_says_so,
    ):
        test()
        print(f"ok {test.__name__}")
