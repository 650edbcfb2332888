"""The objects of the public API: what they pass on, and what they keep."""

import threading
from pathlib import Path
from typing import Any, TypeVar

import pytest

import hostdriver.levelzero as ze
from hostdriver.api.device_queries import text_of
from hostdriver.core.questions import AnyQuestion, Control, Operation, WaitWord
from hostdriver.core.results import ZeError
from hostdriver.runtime.process import Attached
from tests.harness.fake_session import FakeSession, spec_block
from tests.harness.levelzero import LARGE, PAGE, fails

T = TypeVar("T")


class FakeProcess:
    """A process whose questions a fake session answers."""

    def __init__(self, **changes: int) -> None:
        self.session = FakeSession()
        runner: Any = self
        self.attached = Attached(1, runner, self.session.state(**changes))
        self.closed = 0
        self.space = self

    def current(self) -> Attached:
        return self.attached

    def run(self, operation: Operation[T]) -> T:
        return self.session.run(operation)

    def view(self, va: int, size: int) -> memoryview:
        return memoryview(f"{va:x}/{size}".encode())

    def close(self) -> None:
        self.closed += 1


def driver_of(process: FakeProcess) -> ze.Driver:
    anything: Any = process
    return ze.Driver(anything)


@pytest.fixture(name="process")
def make_process() -> FakeProcess:
    return FakeProcess()


@pytest.fixture(name="driver")
def make_driver(process: FakeProcess) -> ze.Driver:
    return driver_of(process)


def test_device_tells_what_the_specification_says(driver: ze.Driver) -> None:
    (device,) = driver.devices
    properties = device.get_properties()
    (memory,) = device.get_memory_properties()

    assert repr(device) == "<Device 0: fake>"
    assert (properties.type, properties.name) == (ze.DeviceType.GPU, "fake")
    assert (properties.vendor_id, properties.device_id) == (0x8086, 0xE0E0)
    assert properties.max_mem_alloc_size == spec_block().max_allocation_size
    assert properties.uuid == bytes(range(16))
    assert memory.total_size == 8 << 30
    assert (memory.max_clock_rate, memory.max_bus_width) == (3200, 4096)
    assert ze.Extension.EXT_IPC_PHYS_MEM_HANDLE_RANGE in device.extensions


def test_text_field_ends_at_its_zeros() -> None:
    assert text_of(b"abc\0\0") == "abc"
    assert text_of(b"\xff\0") == "\ufffd"


def test_example_of_the_manual(process: FakeProcess, driver: ze.Driver) -> None:
    with driver, driver.create_context() as context:
        device = driver.devices[0]
        page = context.virtual_mem_query_page_size(device, 100_000)
        va = context.virtual_mem_reserve(4 * page)
        physical = context.physical_mem_create(device, ze.PhysicalMemDesc(2 * page))
        assert repr(physical).endswith(f": {2 * page:#x} bytes on the device>")
        context.virtual_mem_map(va, page, physical, offset=page)
        context.memory_write(va, b"hello")
        context.memory_copy(va + 8, va, 5)
        context.memory_fill(va + 16, b"-", 5)
        assert context.memory_read(va, 21) == b"hello\0\0\0hello\0\0\0-----"
        handle = context.mem_get_ipc_handle_with_properties(
            va + 1, [ze.IpcPhysMemHandleRangeExtDesc(4)]
        )
        pointer = context.mem_open_ipc_handle(device, bytearray(handle))
        assert context.mem_get_address_range(pointer) == (pointer, 4)
        context.mem_close_ipc_handle(pointer)
        context.mem_put_ipc_handle(handle)
        assert context.mem_get_ipc_handle(va)
        readonly = ze.MemoryAccessAttribute.READONLY
        context.virtual_mem_set_access_attribute(va, page, readonly)
        assert context.virtual_mem_get_access_attribute(va, page) == (readonly, page)
        context.virtual_mem_unmap(va, page)
        context.virtual_mem_free(va, 4 * page)
        assert context.physical_mem_get_properties(physical).size == 2 * page
        context.physical_mem_destroy(physical)
        process.attached.state.check()
    assert process.closed == 1


@pytest.mark.error("VirtualMemMap", "NH")
@pytest.mark.error("PhysicalMemGetProperties", "NH")
@pytest.mark.error("MemOpenIpcHandle", "NH")
def test_null_handles_are_told(context: ze.Context) -> None:
    with fails("INVALID_NULL_HANDLE"):
        context.virtual_mem_query_page_size(None, 1)
    with fails("INVALID_NULL_HANDLE"):
        context.virtual_mem_map(PAGE, PAGE, None)
    with fails("INVALID_NULL_HANDLE"):
        context.physical_mem_create(None, ze.PhysicalMemDesc(PAGE))
    with fails("INVALID_NULL_HANDLE"):
        context.physical_mem_destroy(None)
    with fails("INVALID_NULL_HANDLE"):
        context.physical_mem_get_properties(None)
    with fails("INVALID_NULL_HANDLE"):
        context.mem_open_ipc_handle(None, bytes(64))


@pytest.mark.decision("TEXT-01")
def test_last_error_is_told_again(driver: ze.Driver, context: ze.Context) -> None:
    assert driver.get_last_error_description() == ""

    with pytest.raises(ZeError) as caught:
        context.virtual_mem_free(None, 1)

    assert driver.get_last_error_description() == caught.value.description == "ptr is null"


def test_last_error_is_each_threads_own(driver: ze.Driver, context: ze.Context) -> None:
    with pytest.raises(ZeError):
        context.virtual_mem_free(None, 1)
    texts: list[str] = []
    thread = threading.Thread(target=lambda: texts.append(driver.get_last_error_description()))
    thread.start()
    thread.join()

    assert texts == [""]


@pytest.mark.decision("C18")
def test_what_was_ignored_is_told(driver: ze.Driver, context: ze.Context) -> None:
    desc = ze.PhysicalMemDesc(PAGE, p_next=[ze.UnknownDesc(0x3001B)])
    context.physical_mem_create(driver.devices[0], desc)

    assert "0x3001b" in driver.get_last_error_description()


@pytest.mark.error("ContextCreate", "NP", "IE", "UE")
def test_context_errors(driver: ze.Driver) -> None:
    with fails("INVALID_NULL_POINTER", "desc"):
        driver.create_context(None)
    with fails("INVALID_ENUMERATION", "0x2"):
        driver.create_context(ze.ContextDesc(ze.ContextFlags(2)))
    assert "0x2" in driver.get_last_error_description()
    driver.create_context(ze.ContextDesc(ze.ContextFlags.TBD))


@pytest.mark.error("Any function", "IA")
@pytest.mark.decision("CONTEXT-01")
def test_destroyed_context_is_a_stale_handle(driver: ze.Driver, context: ze.Context) -> None:
    va = context.virtual_mem_reserve(PAGE)
    context.destroy()

    for call in (
        context.destroy,
        lambda: context.virtual_mem_reserve(0),
        lambda: context.memory_read(va, 1),
        lambda: context.mem_get_address_range(None),
    ):
        with fails("INVALID_ARGUMENT", "hContext"):
            call()
    # Memory belongs to the process: another context frees it.
    driver.create_context().virtual_mem_free(va, PAGE)


def test_context_that_was_destroyed_by_hand_ends_quietly(context: ze.Context) -> None:
    with context:
        context.destroy()


@pytest.mark.error("ContextDestroy", "HIU")
@pytest.mark.decision("CONTEXT-02")
def test_context_with_work_cannot_be_destroyed(
    process: FakeProcess, context: ze.Context, driver: ze.Driver
) -> None:
    seen: list[str] = []
    plain = process.session.answer

    def answer(question: AnyQuestion) -> object:
        if isinstance(question, WaitWord):
            with fails("HANDLE_OBJECT_IN_USE", "1 copies"):
                context.destroy()
            seen.append("refused")
        return plain(question)

    process.session.answer = answer  # type: ignore[method-assign]
    context.memory_fill(PAGE, b"a", 8)

    assert seen == ["refused"]
    context.destroy()


def test_work_that_fails_is_over_too(process: FakeProcess, context: ze.Context) -> None:
    process.session.script(WaitWord, ZeError(ze.ZeResult.ZE_RESULT_ERROR_DEVICE_LOST, "gone"))
    with pytest.raises(ZeError):
        context.memory_fill(PAGE, b"a", 8)

    context.destroy()


def test_host_memory_is_viewed_where_it_is(driver: ze.Driver, context: ze.Context) -> None:
    flags = ze.PhysicalMemFlags.ALLOCATE_ON_HOST
    physical = context.physical_mem_create(None, ze.PhysicalMemDesc(4096, flags))
    va = context.virtual_mem_reserve(PAGE)
    context.virtual_mem_map(va, 4096, physical)

    assert bytes(context.host_view(va + 1, 9)) == f"{va + 1:x}/9".encode()
    with fails("ADDRESS_NOT_FOUND"):
        context.host_view(va + 4090, 9)


def test_buffers_of_every_kind_are_read_into(context: ze.Context) -> None:
    context.memory_write(PAGE, memoryview(b"abcdefgh").cast("H"))
    into = bytearray(6)
    context.memory_read_into(PAGE + 1, memoryview(into)[1:5])

    assert into == b"\0bcde\0"


def test_names_of_the_public_face_are_complete() -> None:
    constants_first = sorted(ze.__all__, key=lambda name: (not name.isupper(), name))
    assert list(ze.__all__) == constants_first
    assert all(hasattr(ze, name) for name in ze.__all__)


def test_connecting_without_an_emulator_is_uninitialized(tmp_path: Path) -> None:
    with fails("UNINITIALIZED", "none.sock"):
        ze.connect(tmp_path / "none.sock", start=None)


def test_connecting_starts_an_emulator(tmp_path: Path) -> None:
    started: list[Path] = []

    with fails("UNINITIALIZED", "none.sock"):
        ze.connect(tmp_path / "none.sock", start=started.append)
    assert started == [tmp_path / "none.sock"] * 2


def test_reserving_large_memory_asks_no_device(process: FakeProcess, context: ze.Context) -> None:
    process.session.asked.clear()
    context.virtual_mem_reserve(1024 * LARGE, 0)

    assert process.session.questions(Control) == []
