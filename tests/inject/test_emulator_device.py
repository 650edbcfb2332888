"""Faults of a device under real programs, with an emulator in a process of its own.

Every wait of a program ends in bounded time, other devices go on, and once the rules are gone the
same call works.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from hostdriver import levelzero as ze
from hostdriver.inject.remote import Faults
from tests.harness.cprograms import compiled
from tests.harness.emulator_process import EmulatorProcess, emulator_process
from tests.harness.ze_program import program

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

LOST = ze.ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
BOUND_SECONDS = 5.0
SUCCESS = ze.ZeResult.ZE_RESULT_SUCCESS
FOREVER = 2**64 - 1


@pytest.fixture(name="own", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatorProcess]:
    """Run an emulator with two devices, which this module may break."""
    with emulator_process(tmp_path_factory.mktemp("faulty"), device_count=2) as emulator:
        yield emulator


@pytest.fixture(name="faults")
def make_faults(own: EmulatorProcess) -> Generator[Faults]:
    with Faults(own.path) as faults:
        yield faults
        faults.clear(forget=True)


@pytest.fixture(name="lost_program", scope="module")
def make_lost_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the C program that waits for its device to be lost and then tries every call."""
    return compiled("gone", tmp_path_factory.mktemp("programs"))


def works(emulator: EmulatorProcess, device: int = 0) -> bool:
    """Whether a program that comes now can use a device."""
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        pointer = context.mem_alloc_device(driver.devices[device], 4096)
        context.memory_fill(pointer, b"\x42", 64)
        found = context.memory_read(pointer, 64)
        context.mem_free(pointer)
    return found == b"\x42" * 64


@contextmanager
def in_time() -> Generator[None]:
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < BOUND_SECONDS


def wait_for_a_hit(faults: Faults) -> None:
    next(faults.follow(patience_seconds=BOUND_SECONDS))


def ends(call: Callable[[], object]) -> ze.ZeResult:
    """Return the error of a call in another thread, which has to end in time."""
    told: list[ze.ZeResult] = []

    def run() -> None:
        try:
            call()
        except ze.ZeError as error:
            told.append(error.result)
        else:
            told.append(SUCCESS)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(BOUND_SECONDS)
    assert not thread.is_alive()
    return told[0]


@pytest.mark.parametrize("action", ["reset", "wedge", "remove", "lost"])
def test_a_waiting_program_is_told_and_others_and_the_other_device_go_on(
    own: EmulatorProcess, faults: Faults, action: str
) -> None:
    before = own.audit()
    with ze.connect(own.path, start=None) as driver:
        context = driver.create_context()
        device = driver.devices[0]
        pointer = context.mem_alloc_device(device, 4096)
        pool = context.event_pool_create(ze.EventPoolDesc(1, ze.EventPoolFlags.HOST_VISIBLE))
        event = pool.event_create(ze.EventDesc(0))
        waiter = threading.Thread(target=lambda: told.append(ends(wait)))
        told: list[ze.ZeResult] = []

        def wait() -> None:
            event.host_synchronize(FOREVER)

        waiter.start()
        (rule,) = faults.add(f"device.round {action} device=0 times=1")
        wait_for_a_hit(faults)
        assert ends(lambda: context.memory_fill(pointer, b"\x01", 64)) is LOST
        waiter.join()
        assert told == [LOST]
        assert context.get_status() is LOST
        assert [hit.point for hit in faults.hits()] == ["device.round"]
        if action in ("wedge", "remove"):
            with in_time():
                assert ends(lambda: works(own)) is not SUCCESS
        faults.remove(rule)
    assert works(own)
    assert works(own, 1)
    assert own.audit() == before


@pytest.mark.parametrize("action", ["reset", "wedge", "remove", "lost"])
def test_a_c_program_is_told_by_every_call_that_its_device_is_lost(
    own: EmulatorProcess, faults: Faults, lost_program: Path, action: str
) -> None:
    before = own.audit()
    with subprocess.Popen(
        [lost_program],
        env={**os.environ, "EMUZERO_SOCKET": str(own.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        (rule,) = faults.add(f"device.round {action} times=1")
        wait_for_a_hit(faults)
        _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (0, b"")
    faults.remove(rule)
    assert works(own)
    assert own.audit() == before


def test_a_program_hangs_with_its_queue_until_the_rule_goes(
    own: EmulatorProcess, faults: Faults
) -> None:
    with program(own.path) as victim:
        pointer = victim.do("allocate", 1 << 16)
        (rule,) = faults.add(f"device.queue hang pid={victim.process.pid}")
        victim.process.say(json.dumps(["write", pointer, b"hello".hex()]))
        wait_for_a_hit(faults)
        with in_time():
            assert works(own), "others go on"
        faults.remove(rule)
        with in_time():
            assert victim.process.hear() == "null"
        assert bytes.fromhex(victim.do("read", pointer, 5)) == b"hello"
    assert works(own)


def test_a_wait_on_a_queue_that_hangs_ends_when_the_device_is_reset(
    own: EmulatorProcess, faults: Faults
) -> None:
    with program(own.path) as victim:
        pointer = victim.do("allocate", 1 << 16)
        faults.add(f"device.queue hang pid={victim.process.pid}")
        victim.process.say(json.dumps(["write", pointer, b"hello".hex()]))
        wait_for_a_hit(faults)
        own.reset()
        with in_time():
            assert "DEVICE_LOST" in victim.process.hear()
    assert works(own)


@pytest.mark.parametrize("rule", ["link.interrupt drop", "link.interrupt spurious=50"])
def test_programs_need_no_interrupt_and_bear_a_storm(
    own: EmulatorProcess, faults: Faults, rule: str
) -> None:
    faults.add(rule)
    with in_time():
        assert works(own)
    assert faults.hits()
    faults.clear()
    assert works(own)


def test_a_rule_waits_for_work_or_for_its_time_and_a_storm_for_nobody(
    own: EmulatorProcess, faults: Faults
) -> None:
    with program(own.path) as running:
        running.do("allocate", 1 << 16)
        # The emulator has looked at all of it when it answers.
        own.audit()
        faults.add("device.round lost device=0 times=1 name=next", "link.reply drop nth=1000")
        own.audit()
        assert [rule.seen for rule in faults.rules().rules] == [0, 0]
        faults.clear()
        faults.add("link.interrupt spurious=50 every=0.01 name=storm")
        wait_for_a_hit(faults)
        faults.clear(forget=True)
        faults.add("device.round lost device=0 after_seconds=0.05 times=1")
        wait_for_a_hit(faults)
        assert "DEVICE_LOST" in running.do("allocate", 1 << 16)


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [
        "link.doorbell delay=0.05",
        "link.doorbell repeat=3",
        "link.reply delay=0.05",
        "link.reply reorder",
        "link.completed delay=0.05",
        "mcu.command delay=0.05",
        "device.queue delay=0.05",
    ],
)
def test_what_is_late_is_waited_for(own: EmulatorProcess, faults: Faults, rule: str) -> None:
    faults.add(rule)
    with in_time():
        assert works(own)
    assert faults.hits()


@pytest.mark.parametrize(
    "rule",
    [
        "link.doorbell drop ring=control",
        "link.reply drop",
        "link.tail stale ring=control",
        "link.completed drop",
        "command.control drop",
        "mcu.command drop",
        "device.round hang",
    ],
)
def test_a_program_that_hangs_goes_on_when_the_rule_goes(
    own: EmulatorProcess, faults: Faults, rule: str
) -> None:
    with program(own.path) as running:
        pointer = running.do("allocate", 1 << 16)
        (name,) = faults.add(f"{rule} device=0 times=1")
        removal = threading.Timer(0.3, faults.remove, (name,))
        removal.start()
        with in_time():
            running.do("write", pointer, b"hello")
            other = running.do("allocate", 1 << 16)
        removal.join()
        assert bytes.fromhex(running.do("read", pointer, 5)) == b"hello"
        assert other
    assert works(own)


def test_nothing_is_left_of_programs_that_were_killed_while_they_hung(
    own: EmulatorProcess, faults: Faults
) -> None:
    assert works(own)
    before = own.audit()
    with program(own.path) as running:
        assert running.process.hear() == "ready"
        (rule,) = faults.add("device.round hang device=0 times=1")
        running.process.say('["allocate", 65536]')
        wait_for_a_hit(faults)
        running.process.kill()
    faults.remove(rule)
    assert works(own)
    assert own.audit() == before
