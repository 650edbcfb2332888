"""`emuzero status` of a running emulator, and of none."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

import pytest

from firmware.abi.control import QueueCreate, QueueKind
from firmware.abi.replies import QueueCreated
from hostdriver import levelzero as ze
from hostdriver.cli.observer import Observer
from hostdriver.core.calls import call
from tests.harness.commandline import emuzero, serving, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from firmware.abi.statistics import DeviceStatistics
    from hostdriver.core.state import DriverState
    from tests.harness.commandline import Emulator

SIZE = 1 << 21


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """Run one emulator for the tests that leave it as it is."""
    with serving(tmp_path_factory.mktemp("emulator"), "--vram", "256MiB") as running:
        yield running


@pytest.fixture
def emulator(shared: Emulator) -> Emulator:
    """Return the shared emulator when the clients of the last test have left."""
    await_no_clients(shared)
    return shared


def await_no_clients(emulator: Emulator) -> DeviceStatistics:
    """Return what the device counts when nobody is attached."""
    deadline = time.monotonic() + 30
    with Observer(emulator.socket) as observer:
        while True:
            device = observer.read().devices[0].device
            assert device is not None
            if not device.client_count:
                return device
            assert time.monotonic() < deadline


async def make_queues(state: DriverState, count: int) -> None:
    """Make work queues, as nothing in the driver needs so many."""
    command = QueueCreate(
        request=0, vmid=state.devices[0].vmid, kind=QueueKind.COPY, entry_count=16, priority=0
    )
    for _ in range(count):
        await call(0, command, QueueCreated)


def test_without_an_emulator_it_ends_with_3_and_advice(tmp_path: Path) -> None:
    shown = emuzero("status", "--socket", tmp_path / "none")

    assert shown.returncode == 3
    assert shown.stdout == ""
    assert f"no emulator listens at {tmp_path}/none; start one with `emuzero serve`" in shown.stderr


def test_the_environment_names_the_socket(emulator: Emulator) -> None:
    shown = emuzero("status", "--json", env={"EMUZERO_SOCKET": str(emulator.socket)})

    assert json.loads(shown.stdout)["socket"] == str(emulator.socket)


def test_an_idle_emulator_has_everything_free(emulator: Emulator) -> None:
    (device,) = emulator.status()["devices"]

    assert device["phase"] == "RUNNING"
    assert device["statistics"]["free_bytes"] == device["statistics"]["vram_size"] == 256 << 20
    assert (device["clients"], device["spaces"], device["queues"]) == ([], [], [])


def test_a_client_is_seen_with_what_it_has(emulator: Emulator) -> None:
    with ze.connect(emulator.socket, name="my program", start=None) as driver:
        context = driver.create_context()
        physical = context.physical_mem_create(driver.devices[0], ze.PhysicalMemDesc(SIZE))
        start_va = context.virtual_mem_reserve(SIZE)
        context.virtual_mem_map(start_va, SIZE, physical)
        context.memory_fill(start_va, b"x", SIZE)

        (device,) = emulator.status()["devices"]
        table = emuzero("status", "--socket", emulator.socket).stdout

    statistics = device["statistics"]
    (client,), (space,), (queue,) = device["clients"], device["spaces"], device["queues"]
    assert statistics["client_count"] == 1
    assert statistics["vram_size"] - statistics["free_bytes"] == SIZE + statistics["table_bytes"]
    assert (client["name"], client["object_count"]) == ("my program", 1)
    assert client["vram_bytes"] == SIZE + statistics["table_bytes"]
    assert space["mapped_pages"] == SIZE >> 12
    assert (queue["kind"], queue["state"], queue["completed"]) == ("COPY", "RUNNING", 1)
    assert queue["bytes_copied"] == SIZE
    assert "my program" in table
    assert "2 MiB" in table


def test_all_is_free_again_when_the_client_has_left(emulator: Emulator) -> None:
    with ze.connect(emulator.socket, start=None) as driver:
        driver.create_context().physical_mem_create(driver.devices[0], ze.PhysicalMemDesc(SIZE))

    device = await_no_clients(emulator)
    assert device.free_bytes == device.vram_size


def test_more_records_than_expected_are_all_read(emulator: Emulator) -> None:
    drivers = [ze.connect(emulator.socket, start=None) for _ in range(3)]
    try:
        for driver in drivers:
            driver.run(lambda state: make_queues(state, 30))

        (device,) = emulator.status()["devices"]
    finally:
        for driver in drivers:
            driver.close()

    assert len(device["queues"]) == 90
    assert len({(queue["client_id"], queue["queue_id"]) for queue in device["queues"]}) == 90


def test_a_fault_is_seen(emulator: Emulator) -> None:
    with ze.connect(emulator.socket, start=None) as driver:
        context = driver.create_context()
        with pytest.raises(ze.ZeError, match="DEVICE_LOST"):
            context.memory_fill(0x5000_0000_0000, b"x", 16)

        (device,) = emulator.status()["devices"]
        table = emuzero("status", "--socket", emulator.socket).stdout

    assert device["statistics"]["faults"] >= 1
    assert device["clients"][0]["faults"] == 1
    assert "Faults none" not in table


@pytest.mark.slow
def test_one_device_can_be_asked_for(tmp_path: Path) -> None:
    with serving(tmp_path, "--devices", 2, "--vram", "1MiB") as emulator:
        arguments = ("status", "--socket", emulator.socket, "--device")

        one = json.loads(emuzero(*arguments, 1, "--json").stdout)
        none = emuzero(*arguments, 2)

    assert [device["index"] for device in one["devices"]] == [1]
    assert none.returncode == 2
    assert "there is no device 2; the emulator has 2, counted from 0" in none.stderr


def test_watching_writes_a_document_a_line_until_ctrl_c(emulator: Emulator) -> None:
    process = start("status", "--socket", emulator.socket, "--json", "--watch", "0.1")
    assert process.stdout is not None

    documents = [json.loads(process.stdout.readline()) for _ in range(3)]
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)

    times = [document["devices"][0]["statistics"]["uptime_ticks"] for document in documents]
    assert times == sorted(set(times))
    assert process.returncode == 130
    assert errors.strip() == ""


@pytest.mark.slow
def test_watching_ends_with_the_emulator(tmp_path: Path) -> None:
    with serving(tmp_path, "--vram", "1MiB") as emulator:
        process = start("status", "--socket", emulator.socket, "--watch", "0.1")
        assert process.stdout is not None
        process.stdout.readline()

        emulator.process.terminate()
        _, errors = process.communicate(timeout=60)

    assert process.returncode == 3
    assert "no emulator listens" in errors or "is gone" in errors
