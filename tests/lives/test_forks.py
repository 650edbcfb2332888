"""Fork, at any moment and however deep: the child begins anew, the parent is not disturbed."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from firmware.link.carrier import SocketCarrier
from hostdriver import levelzero as ze
from tests.harness.children import in_child
from tests.harness.levelzero import map_page

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from tests.harness.emulator_process import EmulatorProcess

PAGE = 64 << 10


@pytest.fixture(name="driver")
def make_driver(emulator: EmulatorProcess) -> Iterator[ze.Driver]:
    before = emulator.audit()
    with ze.connect(emulator.path, start=None) as driver:
        yield driver
    assert emulator.audit().free_bytes == before.free_bytes


def tickets() -> int:
    """Return how many descriptors this process has that identify handles."""
    count = 0
    for path in Path("/proc/self/fd").iterdir():
        # The folder's own descriptor is gone when it is looked at.
        with contextlib.suppress(FileNotFoundError):
            count += "emuzero-ticket" in str(path.readlink())
    return count


def works(driver: ze.Driver, context: ze.Context, text: bytes) -> bool:
    """Return whether memory can be had, written, shared with oneself and given back."""
    device = driver.devices[0]
    pointer = context.virtual_mem_reserve(PAGE)
    physical = context.physical_mem_create(device, ze.PhysicalMemDesc(PAGE))
    context.virtual_mem_map(pointer, PAGE, physical)
    context.memory_write(pointer, text)
    opened = context.mem_open_ipc_handle(device, context.mem_get_ipc_handle(pointer))
    found = context.memory_read(opened, len(text))
    context.mem_close_ipc_handle(opened)
    context.virtual_mem_free(pointer, PAGE)
    context.physical_mem_destroy(physical)
    context.mem_free(context.mem_alloc_shared(PAGE, 0, device))
    return found == text


@contextmanager
def busy(count: int, call: Callable[[], object]) -> Generator[list[BaseException]]:
    """Have threads make a call again and again; give what they raised."""
    end, errors = threading.Event(), list[BaseException]()
    begun = threading.Barrier(count + 1)

    def work() -> None:
        begun.wait()
        try:
            while not end.is_set():
                call()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(count)]
    with ExitStack() as undo:
        for thread in threads:
            thread.start()
            undo.callback(thread.join)
        undo.callback(end.set)
        begun.wait()
        yield errors


def test_child_inherits_no_descriptor_of_a_handle(driver: ze.Driver) -> None:
    context = driver.create_context()
    handle = context.mem_get_ipc_handle(map_page(context, driver.devices[0]))
    assert tickets() == 1

    assert in_child(lambda: tickets() == 0)
    assert tickets() == 1
    context.mem_put_ipc_handle(handle)
    assert tickets() == 0


def test_child_opens_what_the_parent_exported(driver: ze.Driver) -> None:
    context = driver.create_context()
    pointer = map_page(context, driver.devices[0])
    context.memory_write(pointer, b"parent")
    handle = context.mem_get_ipc_handle(pointer)

    def child() -> bool:
        opened = context.mem_open_ipc_handle(driver.devices[0], handle)
        context.memory_write(opened + 6, b" child")
        # It did not get the handle: putting it does nothing.
        context.mem_put_ipc_handle(handle)
        return context.memory_read(opened, 6) == b"parent"

    assert in_child(child)
    assert in_child(child)
    assert context.memory_read(pointer, 12) == b"parent child"


def test_pointers_of_the_parent_are_unknown_to_the_child(driver: ze.Driver) -> None:
    context = driver.create_context()
    pointer = map_page(context, driver.devices[0])
    opened = context.mem_open_ipc_handle(driver.devices[0], context.mem_get_ipc_handle(pointer))

    allocated = context.mem_alloc_device(driver.devices[0], PAGE)

    def child() -> bool:
        for call, argument in (
            (context.mem_free, allocated),
            (context.mem_close_ipc_handle, opened),
            (context.mem_get_ipc_handle, pointer),
        ):
            with pytest.raises(ze.ZeError) as caught:
                call(argument)
            if caught.value.result is not ze.ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT:
                return False
        return True

    assert in_child(child)
    context.mem_close_ipc_handle(opened)
    context.mem_free(allocated)


def test_children_of_children_have_sessions_of_their_own(driver: ze.Driver) -> None:
    context = driver.create_context()

    def generation(number: int) -> bool:
        text = b"generation %d" % number
        younger = number == 4 or in_child(lambda: generation(number + 1))
        return younger and works(driver, context, text)

    assert generation(0)


def test_child_that_uses_the_driver_before_it_forks_again(driver: ze.Driver) -> None:
    context = driver.create_context()

    def child() -> bool:
        first = works(driver, context, b"child")
        return first and in_child(lambda: works(driver, context, b"grandchild"))

    assert in_child(child)
    assert works(driver, context, b"parent")


def test_fork_in_the_midst_of_calls_of_every_kind(driver: ze.Driver) -> None:
    context = driver.create_context()
    with busy(4, lambda: works(driver, context, b"thread")) as errors:
        good = [in_child(lambda: works(driver, context, b"child")) for _ in range(6)]

    assert good == [True] * 6
    assert errors == []
    driver._process.current().state.check()


def test_fork_while_a_thread_receives_descriptors(driver: ze.Driver) -> None:
    context = driver.create_context()
    carrier = driver._process.current().runner.sessions[0]._end.carrier
    assert isinstance(carrier, SocketCarrier)

    with carrier._lock:
        assert in_child(lambda: works(driver, context, b"child"))

    assert works(driver, context, b"parent")


def test_child_may_destroy_a_context_that_the_parent_was_copying_with(driver: ze.Driver) -> None:
    context = driver.create_context()
    pointer = context.mem_alloc_device(driver.devices[0], 8 << 20)
    pattern = bytes(8 << 20)

    def child() -> bool:
        context.destroy()
        return True

    with busy(3, lambda: context.memory_write(pointer, pattern)) as errors:
        assert [in_child(child) for _ in range(4)] == [True] * 4

    assert errors == []
    context.mem_free(pointer)


def test_child_that_ends_with_threads_inside_calls(
    driver: ze.Driver, emulator: EmulatorProcess
) -> None:
    context = driver.create_context()
    held = emulator.audit()

    def child() -> bool:
        with busy(3, lambda: works(driver, context, b"thread")):
            os._exit(0)

    assert in_child(child)
    assert emulator.audit() == held
    assert works(driver, context, b"parent")


def test_program_that_a_child_becomes_inherits_nothing(driver: ze.Driver) -> None:
    context = driver.create_context()
    context.physical_mem_create(None, ze.PhysicalMemDesc(4096, ze.PhysicalMemFlags(2)))
    pointer = context.mem_alloc_shared(PAGE, 0, driver.devices[0])
    context.mem_get_ipc_handle(map_page(context, driver.devices[0]))
    look = (
        "import os, sys\n"
        "names = [os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')"
        " if os.path.exists(f'/proc/self/fd/{n}')]\n"
        "sys.exit(any('emuzero' in n or 'eventfd' in n or 'pidfd' in n for n in names))"
    )

    def child() -> bool:
        os.execv(sys.executable, [sys.executable, "-c", look])  # noqa: S606 - an exec is wanted

    assert in_child(child)
    context.mem_free(pointer)


def test_exec_ends_the_session(emulator: EmulatorProcess) -> None:
    held = emulator.audit()
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(reading, 0)
        os.close(writing)
        driver = ze.connect(emulator.path, start=None)
        driver.create_context().mem_alloc_device(driver.devices[0], 1 << 20)
        # The new program lives until its input ends.
        os.execv("/bin/cat", ["cat"])  # noqa: S606 - an exec is wanted
    os.close(reading)
    while _name_of(pid) != "cat":
        pass

    assert emulator.audit() == held
    os.close(writing)
    os.waitpid(pid, 0)


def _name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()
