"""Faults of memory, page tables and system in an emulator's process: what a program is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest

from hostdriver import levelzero as ze
from hostdriver.inject.remote import Faults
from tests.harness.application_memory import mapped
from tests.harness.emulator_process import emulator_process

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tests.harness.emulator_process import EmulatorProcess

SIZE = 1 << 16
LARGE = 6 << 20


@pytest.fixture(name="emulator", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatorProcess]:
    """Run a device process for these tests alone: memory with an error goes out of service."""
    with emulator_process(tmp_path_factory.mktemp("emulator")) as running:
        yield running


def allocate_device(context: ze.Context) -> None:
    context.mem_free(context.mem_alloc_device(context.driver.devices[0], SIZE))


def allocate_host(context: ze.Context) -> None:
    context.mem_free(context.mem_alloc_host(SIZE))


def copy(context: ze.Context, size: int = SIZE) -> None:
    """Write, copy and read back; memory is given back whatever happens."""
    device = context.driver.devices[0]
    first, second = (context.mem_alloc_device(device, size) for _ in range(2))
    try:
        context.memory_fill(first, b"x", size)
        context.memory_copy(second, first, size)
        assert context.memory_read(second, size) == b"x" * size
    finally:
        context.mem_free(first)
        context.mem_free(second)


def copy_in_chunks(context: ze.Context) -> None:
    copy(context, LARGE)


def import_memory(context: ze.Context) -> None:
    with mapped(SIZE) as buffer:
        desc = ze.HostMemAllocDesc(p_next=[ze.ExternalMemmapSysmemExtDesc(buffer, SIZE)])
        context.mem_free(context.mem_alloc_host(SIZE, desc=desc))


class Case(NamedTuple):
    """What a rule does to a call."""

    rule: str
    call: Callable[[ze.Context], None]
    error: str
    words: str = ""


CASES = (
    Case("memory.allocate fail", allocate_device, "OUT_OF_DEVICE_MEMORY"),
    Case("memory.access uncorrectable nth=2", copy, "DEVICE_LOST", "uncorrectable error"),
    Case("dma.transfer partial=5", copy, "DEVICE_LOST", "the copy engine failed there"),
    Case("dma.transfer partial=4194305 opcode=COPY", copy_in_chunks, "DEVICE_LOST", "failed"),
    Case("mmu.walk fail_walk=1", copy, "DEVICE_LOST", "nothing is mapped there"),
    Case("mmu.entry flip field=write level=0", copy, "DEVICE_LOST", "malformed"),
    Case("os.device.memory_file errno=EMFILE", allocate_host, "OUT_OF_HOST_MEMORY"),
    Case("os.device.send errno=EMSGSIZE", allocate_host, "OUT_OF_HOST_MEMORY"),
    Case("os.device.send drop", allocate_host, "OUT_OF_HOST_MEMORY", "did not send"),
    Case("os.device.pages errno=EPERM", import_memory, "INSUFFICIENT_PERMISSIONS"),
)


@pytest.fixture(name="faults")
def make_faults(emulator: EmulatorProcess) -> Generator[Faults]:
    with Faults(emulator.path) as faults:
        yield faults
        faults.clear(forget=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_a_program_is_told_and_the_same_call_works_without_the_rule(
    case: Case, emulator: EmulatorProcess, faults: Faults
) -> None:
    before = emulator.audit()
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        faults.add(case.rule)
        with pytest.raises(ze.ZeError) as caught:
            case.call(context)
        assert caught.value.result.name == f"ZE_RESULT_ERROR_{case.error}"
        assert case.words in caught.value.description
        (counted,) = faults.rules().rules
        assert counted.fired >= 1
        faults.clear()
        case.call(context)
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        case.call(context)
    after = emulator.audit()
    # A frame with an error is out of service.
    retired = 4096 if "uncorrectable" in case.rule else 0
    expected = replace(before, faults=after.faults, free_bytes=before.free_bytes - retired)
    assert after == expected


@pytest.mark.parametrize("rule", ["errno=EMFILE times=2", "errno=EPERM times=2", "delay=0.01"])
def test_a_program_connects_to_an_emulator_that_takes_connections_late(
    rule: str, emulator: EmulatorProcess, faults: Faults
) -> None:
    before = emulator.audit()
    faults.add(f"os.device.accept {rule}")
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        copy(context)
    assert faults.rules().rules[0].fired >= 1
    assert emulator.audit() == before


@pytest.mark.parametrize("action", ["close", "errno", "delay=3600"])
def test_no_rule_locks_its_owner_out(
    action: str, emulator: EmulatorProcess, faults: Faults
) -> None:
    faults.add(f"os.device.accept {action} name=closed", stay=True)
    with Faults(emulator.path) as other:
        (rule,) = other.remove("closed")
    assert (rule.name, rule.seen) == ("closed", 0)


def test_a_program_whose_connection_closes_is_told_and_connects_again(
    emulator: EmulatorProcess, faults: Faults
) -> None:
    before = emulator.audit()
    faults.add("os.device.accept close times=1")
    with pytest.raises(ze.ZeError):
        ze.connect(emulator.path, start=None)
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        copy(context)
    assert emulator.audit() == before


def test_a_program_whose_socket_closes_has_lost_its_device_and_another_has_not(
    emulator: EmulatorProcess, faults: Faults
) -> None:
    before = emulator.audit()
    with (
        ze.connect(emulator.path, start=None) as other,
        other.create_context() as beside,
        ze.connect(emulator.path, start=None) as driver,
    ):
        context = driver.create_context()
        context.mem_alloc_device(driver.devices[0], SIZE)
        faults.add("os.device.send close times=1")
        # The refusal may be there before the end of the socket is seen.
        with pytest.raises(ze.ZeError):
            allocate_host(context)
        with pytest.raises(ze.ZeError, match="DEVICE_LOST"):
            allocate_host(context)
        allocate_host(beside)
        copy(beside)
    assert emulator.audit() == before


def test_a_free_whose_acknowledgement_is_lost_ends_when_the_rule_goes(
    emulator: EmulatorProcess, faults: Faults
) -> None:
    before = emulator.audit()
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        pointer = context.mem_alloc_device(driver.devices[0], SIZE)
        context.memory_fill(pointer, b"x", SIZE)
        faults.add("mmu.invalidate drop", "dma.transfer lose nth=1000")
        context.mem_free(pointer)
        held = emulator.audit().free_bytes
        faults.clear()
        context.mem_free(context.mem_alloc_device(driver.devices[0], SIZE))
        assert emulator.audit().free_bytes >= held
    assert emulator.audit() == before
