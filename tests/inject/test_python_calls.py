"""Calls of a Python program that are refused, late, held up, and handles that change on the way."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from hostdriver import levelzero as ze
from hostdriver.inject.joining import FOLLOW_VARIABLE
from hostdriver.inject.remote import Faults
from tests.harness.emulator_process import emulator_process

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.harness.emulator_process import EmulatorProcess

LATE_SECONDS = 0.2
LONG_SECONDS = 3_600.0
PATIENCE_SECONDS = 30.0


@pytest.fixture(name="mine")
def make_context(
    emulator: EmulatorProcess, monkeypatch: pytest.MonkeyPatch
) -> Generator[ze.Context]:
    """Return a context of a driver that follows rules."""
    monkeypatch.setenv(FOLLOW_VARIABLE, "1")
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        yield context


@pytest.fixture(name="faults")
def make_faults(emulator: EmulatorProcess) -> Generator[Faults]:
    with Faults(emulator.path) as faults:
        yield faults
        faults.clear(forget=True)


def allocate(context: ze.Context) -> int:
    return context.mem_alloc_device(context.driver.devices[0], 65536)


@pytest.mark.parametrize(("action", "left"), [("refuse", 0), ("fail_late", 1)])
def test_calls_are_refused_and_fail_late_by_name_and_work_again(
    action: str, left: int, mine: ze.Context, faults: Faults, emulator: EmulatorProcess
) -> None:
    plain = type(mine).mem_alloc_device
    before = emulator.audit()
    result = "ZE_RESULT_ERROR_DEVICE_LOST"
    with faults.injected(f"api.zeMemAllocDevice {action}={result} name=mine"):
        with pytest.raises(ze.ZeError, match="by rule 'mine': zeMemAllocDevice") as caught:
            allocate(mine)
        assert mine.driver.get_last_error_description() == caught.value.description
    assert caught.value.result is ze.ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
    # The outputs of a call that fails are lost in Python: so is what it made.
    assert emulator.audit().objects == before.objects + left
    assert type(mine).mem_alloc_device is plain
    mine.mem_free(allocate(mine))


def test_a_call_of_an_object_without_a_context_is_refused(mine: ze.Context, faults: Faults) -> None:
    line = "api.zeEventHostSignal refuse=ZE_RESULT_ERROR_DEVICE_LOST name=mine"
    with faults.injected(line), mine.event_pool_create(ze.EventPoolDesc(count=1)) as pool:
        event = pool.event_create()
        with pytest.raises(ze.ZeError, match="by rule 'mine': zeEventHostSignal"):
            event.host_signal()
        assert "by rule 'mine'" in mine.driver.get_last_error_description()
        event.destroy()


def test_a_call_is_late(mine: ze.Context, faults: Faults) -> None:
    with faults.injected(f"api.zeMemAllocDevice delay={LATE_SECONDS} times=1"):
        begun = time.monotonic()
        mine.mem_free(allocate(mine))
        assert time.monotonic() - begun >= LATE_SECONDS
        mine.mem_free(allocate(mine))


def test_a_call_that_is_held_up_goes_on_when_its_rule_goes(
    mine: ze.Context, faults: Faults
) -> None:
    faults.add(f"api.zeMemAllocDevice delay={LONG_SECONDS} name=long")
    made: list[int] = []
    caller = threading.Thread(target=lambda: made.append(allocate(mine)))
    caller.start()
    next(faults.follow(rule="long", patience_seconds=PATIENCE_SECONDS))
    assert not made

    faults.remove("long")

    caller.join(PATIENCE_SECONDS)
    assert not caller.is_alive()
    mine.mem_free(made[0])


def test_each_emulator_has_the_calls_of_its_own_drivers(
    mine: ze.Context, faults: Faults, tmp_path: Path
) -> None:
    with ExitStack() as open_now:
        other = open_now.enter_context(emulator_process(tmp_path))
        theirs = open_now.enter_context(ze.connect(other.path, start=None))
        context = open_now.enter_context(theirs.create_context())
        others = open_now.enter_context(Faults(other.path))
        for talk, name, hit, free in (
            (faults, "here", mine, context),
            (others, "there", context, mine),
        ):
            with talk.injected(f"api.zeMemAllocDevice refuse name={name}"):
                free.mem_free(allocate(free))
                with pytest.raises(ze.ZeError, match=f"by rule '{name}'"):
                    allocate(hit)


@pytest.mark.parametrize(
    "action",
    [
        "flip field=token",
        "flip=7 field=size_bytes",
        "flip field=check",
        "set=kind value=3",
        "set=version value=9",
        "replay",
    ],
)
def test_whoever_opens_a_changed_handle_is_told_and_nothing_is_left(
    action: str, mine: ze.Context, faults: Faults, emulator: EmulatorProcess
) -> None:
    device = mine.driver.devices[0]
    pointer = allocate(mine)
    handle = mine.mem_get_ipc_handle(pointer)
    # Talks of drivers that have left are gone once there was an answer.
    faults.rules()
    before = emulator.audit()
    with faults.injected(f"peer.handle {action} call=zeMemOpenIpcHandle name=mine"):
        with pytest.raises(ze.ZeError, match="INVALID_ARGUMENT"):
            mine.mem_open_ipc_handle(device, handle)
        with pytest.raises(ze.ZeError, match="INVALID_ARGUMENT"):
            mine.mem_open_ipc_handle(device, handle=memoryview(handle))
        assert faults.rules().rules[0].fired == 2
    assert emulator.audit() == before
    mine.mem_close_ipc_handle(mine.mem_open_ipc_handle(device, handle))
    mine.mem_free(pointer)


def test_a_handle_that_was_put_comes_once_more(mine: ze.Context, faults: Faults) -> None:
    device = mine.driver.devices[0]
    pointer, other = allocate(mine), allocate(mine)
    handle = mine.mem_get_ipc_handle(pointer)
    with faults.injected("peer.handle replay"):
        mine.mem_put_ipc_handle(mine.mem_get_ipc_handle(other))
        with pytest.raises(ze.ZeError, match="it was put"):
            mine.mem_open_ipc_handle(device, handle)
    mine.mem_close_ipc_handle(mine.mem_open_ipc_handle(device, handle))
    for one in (pointer, other):
        mine.mem_free(one)


def test_what_is_no_handle_is_told_by_the_call_itself(mine: ze.Context, faults: Faults) -> None:
    with faults.injected("peer.handle flip"):
        with pytest.raises(TypeError):
            mine.mem_open_ipc_handle(mine.driver.devices[0])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        with pytest.raises(ze.ZeError, match="INVALID_ARGUMENT"):
            mine.mem_open_ipc_handle(mine.driver.devices[0], b"short")
