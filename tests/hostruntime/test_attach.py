"""Attaching to real emulators, closing, and what a fork does."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firmware.abi.control import ControlCommand
from firmware.abi.handshake import HandshakeStatus
from firmware.abi.status import Status
from firmware.link.ends import HostEnd
from firmware.link.errors import Refused
from hostdriver import levelzero as ze
from hostdriver.core.questions import Answer
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.core.state import DeviceFacts
from hostdriver.runtime.attach import attach
from hostdriver.runtime.discovery import DISABLED_VARIABLE, SOCKET_VARIABLE
from hostdriver.runtime.process import Process
from hostdriver.runtime.runner import Runner
from hostdriver.runtime.system import System, current
from tests.harness.children import in_child
from tests.harness.emulator_process import EmulatorProcess, emulator_process
from tests.harness.fake_session import refused, spec_block, superblock
from tests.harness.levelzero import map_page

PAGE = 64 << 10
HOST = ze.PhysicalMemFlags.ALLOCATE_ON_HOST


@pytest.fixture(name="emulator", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorProcess]:
    with emulator_process(tmp_path_factory.mktemp("emulator"), device_count=2) as process:
        yield process


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only


def test_nobody_there_is_uninitialized(tmp_path: Path) -> None:
    with pytest.raises(ZeError, match="no emulator listens") as caught:
        attach(tmp_path / "none.sock")
    assert caught.value.result is ZeResult.ZE_RESULT_ERROR_UNINITIALIZED


def test_every_device_has_a_session(emulator: EmulatorProcess) -> None:
    runner = attach(emulator.path, name="test")

    assert [s.facts.superblock.device_index for s in runner.sessions] == [0, 1]
    assert runner.socket == str(emulator.path)
    runner.close()


def test_second_device_that_refuses_leaves_nothing_open(
    emulator: EmulatorProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OneOnly(System):
        def connect(self, path: Path, name: str, device_index: int = 0) -> HostEnd:
            if device_index:
                raise Refused(HandshakeStatus.PERMISSION, 0, "not this one")
            return super().connect(path, name)

    monkeypatch.setattr(current, "system", OneOnly())
    before = descriptors()

    with pytest.raises(ZeError, match="not this one") as caught:
        attach(emulator.path)
    assert caught.value.result is ZeResult.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS
    assert descriptors() == before


@pytest.mark.slow
def test_full_emulator_refuses(tmp_path: Path) -> None:
    with (
        emulator_process(tmp_path, spec="max_clients = 1") as process,
        ze.connect(process.path, start=None),
    ):
        before = descriptors()
        with pytest.raises(ZeError) as caught:
            ze.connect(process.path, start=None)
        assert caught.value.result is ZeResult.ZE_RESULT_ERROR_NOT_AVAILABLE
        assert descriptors() == before


def test_closing_gives_everything_back(emulator: EmulatorProcess) -> None:
    before, held = descriptors(), emulator.audit()
    driver = ze.connect(emulator.path, start=None)
    context = driver.create_context()
    va = map_page(context, driver.devices[0])
    context.memory_write(va, b"hello")
    context.mem_get_ipc_handle(va)
    context.physical_mem_create(None, ze.PhysicalMemDesc(4096, HOST))

    driver.close()
    driver.close()

    assert descriptors() == before
    assert emulator.audit() == held
    with pytest.raises(ZeError, match="the driver was closed"):
        context.virtual_mem_reserve(PAGE)


@pytest.mark.decision("C36")
def test_extension_may_be_switched_off_in_one_process(
    emulator: EmulatorProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DISABLED_VARIABLE, "ZE_extension_ipc_phys_mem_handle_range")
    with ze.connect(emulator.path, start=None) as driver:
        device = driver.devices[0]

        assert ze.Extension.EXT_IPC_PHYS_MEM_HANDLE_RANGE not in device.extensions
        assert ze.Extension.EXT_IPC_MEM_HANDLE_TYPE in device.extensions


def client_of(driver: ze.Driver) -> int:
    """Return the number by which device 0 knows this process."""
    return driver._process.current().state.facts.devices[0].superblock.client_id


def test_child_has_a_session_of_its_own(driver: ze.Driver, emulator: EmulatorProcess) -> None:
    context = driver.create_context()
    va = map_page(context, driver.devices[0])
    context.memory_write(va, b"parent")
    held, client = emulator.audit(), client_of(driver)

    def child() -> bool:
        own = map_page(context, driver.devices[0])
        context.memory_write(own, b"child!")
        return context.memory_read(own, 6) == b"child!" and client_of(driver) != client

    assert in_child(child)
    assert context.memory_read(va, 6) == b"parent"
    assert emulator.audit() == held


def test_memory_of_the_parent_is_unknown_to_the_child(driver: ze.Driver) -> None:
    context = driver.create_context()
    va = map_page(context, driver.devices[0])
    physical = context.physical_mem_create(driver.devices[0], ze.PhysicalMemDesc(PAGE))

    def child() -> bool:
        for call in (
            lambda: context.mem_get_ipc_handle(va),
            lambda: context.virtual_mem_free(va, PAGE),
            lambda: context.physical_mem_destroy(physical),
        ):
            with pytest.raises(ZeError) as caught:
                call()
            if caught.value.result is not ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT:
                return False
        return True

    assert in_child(child)
    context.virtual_mem_free(va, PAGE)
    context.physical_mem_destroy(physical)


def test_child_closes_what_it_inherited_of_the_driver(driver: ze.Driver) -> None:
    context = driver.create_context()
    context.physical_mem_create(None, ze.PhysicalMemDesc(4096, HOST))
    before = descriptors()

    # For each device: socket, pidfd and two eventfds; and the file of the host memory.
    assert in_child(lambda: descriptors() == before - 2 * 4 - 1)
    assert descriptors() == before


def test_fork_while_other_threads_call_harms_nobody(driver: ze.Driver) -> None:
    context = driver.create_context()
    va = map_page(context, driver.devices[0])
    end = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            while not end.is_set():
                context.memory_write(va, b"again")
        except ZeError as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    good = [in_child(lambda: bool(context.virtual_mem_reserve(PAGE))) for _ in range(5)]
    end.set()
    for thread in threads:
        thread.join()

    assert good == [True] * 5
    assert errors == []


def test_child_of_a_closed_driver_stays_closed(emulator: EmulatorProcess) -> None:
    driver = ze.connect(emulator.path, start=None)
    context = driver.create_context()
    driver.close()

    def child() -> bool:
        with pytest.raises(ZeError, match="closed"):
            context.virtual_mem_reserve(PAGE)
        return True

    assert in_child(child)


@pytest.mark.decision("FAULT-05")
def test_emulator_that_dies_ends_every_call(tmp_path: Path) -> None:
    with emulator_process(tmp_path) as process:
        driver = ze.connect(process.path, start=None)
        context = driver.create_context()
        va = map_page(context, driver.devices[0])
        process.process.kill()

        for call in (
            lambda: context.memory_read(va, 4),
            lambda: context.virtual_mem_unmap(va, PAGE),
            lambda: context.physical_mem_create(driver.devices[0], ze.PhysicalMemDesc(PAGE)),
        ):
            with pytest.raises(ZeError) as caught:
                call()
            assert caught.value.result is ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
        assert driver.get_last_error_description()
        driver.close()


def test_shared_emulator_is_started_when_nobody_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SOCKET_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with ze.connect() as driver:
        context = driver.create_context()
        va = map_page(context, driver.devices[0])
        context.memory_write(va, b"started")
        with ze.connect(start=None) as other:
            assert len(other.devices) == 1
        assert context.memory_read(va, 7) == b"started"


def test_emulator_that_was_named_is_not_replaced_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "named.sock"
    with pytest.raises(ZeError, match="no emulator listens"):
        ze.connect(named)
    monkeypatch.setenv(SOCKET_VARIABLE, str(named))
    with pytest.raises(ZeError, match="no emulator listens"):
        ze.connect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_refusal_does_not_start_another_emulator(tmp_path: Path) -> None:
    started: list[Path] = []
    with (
        emulator_process(tmp_path, spec="max_clients = 1") as process,
        ze.connect(process.path, start=None),
        pytest.raises(ZeError, match="no more clients"),
    ):
        ze.connect(process.path, start=started.append)
    assert started == []


class RefusingSession:
    """A device without room for another address space."""

    facts = DeviceFacts(superblock=superblock(), spec=spec_block())

    def __init__(self, status: Status) -> None:
        self.status = status
        self.closed = False

    def post(self, command: ControlCommand, payload: bytes, room: int, *_: object) -> None:
        """Do nothing."""

    def collect(self, command: ControlCommand, pending: None) -> Answer:
        return Answer(refused(type(command), self.status, 64))

    def hang_up(self, reason: str) -> None:
        self.closed = True

    def close(self) -> None:
        """Do nothing."""


@pytest.mark.slow
def test_device_without_room_for_the_process_is_told() -> None:
    session = RefusingSession(Status.LIMIT)
    anything: Any = session

    with pytest.raises(ZeError, match="no more than 64") as caught:
        Process(lambda: Runner([anything]))
    assert caught.value.result is ZeResult.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
    assert session.closed


def test_link_that_was_forgotten_is_made_anew(emulator: EmulatorProcess) -> None:
    # What happens in a child, seen from inside.
    driver = ze.connect(emulator.path, start=None)
    context = driver.create_context()
    context.physical_mem_create(None, ze.PhysicalMemDesc(4096, HOST))
    before, client_id = driver._process.current(), client_of(driver)
    count = descriptors()

    driver._process.forget()

    assert descriptors() == count - 2 * 4 - 1
    assert client_of(driver) != client_id
    assert context.virtual_mem_reserve(PAGE)
    before.runner.space.close()
    driver.close()


def test_fork_that_nobody_told_of_is_noticed(emulator: EmulatorProcess) -> None:
    driver = ze.connect(emulator.path, start=None)
    process, client_id = driver._process, client_of(driver)
    before = process.current()
    process._attached = before._replace(pid=before.pid + 1)

    assert client_of(driver) != client_id
    before.runner.space.close()
    driver.close()
