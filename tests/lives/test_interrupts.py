"""Ctrl-C at every line of every call: it is told, and nothing is lost.

The program is interrupted where Python runs a given line of the driver, for one line after the
other, so that no moment is left out.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import DeviceSpec, Pair, pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import TypeAlias

    from _typeshed import TraceFunction

    Scene: TypeAlias = Callable[["Stage"], Callable[[], object]]

PAGE = 64 << 10
DRIVER = str(Path(ze.__file__).parent)
ROOMS = tuple(f"{DRIVER}/{room}/" for room in ("api", "core", "runtime"))
HELD = f"{DRIVER}/runtime/interrupts.py"
MOST_LINES = 3_000


class Stage:
    """One program of a pair, with something of each kind."""

    def __init__(self, devices: Pair) -> None:
        self.driver = devices.driver
        self.device = self.driver.devices[0]
        self.context = self.driver.create_context()
        self.va = self.context.virtual_mem_reserve(4 * PAGE)
        self.physical = self.context.physical_mem_create(self.device, ze.PhysicalMemDesc(PAGE))
        self.context.virtual_mem_map(self.va, PAGE, self.physical)
        self.handle = self.context.mem_get_ipc_handle(self.va)
        self.context.memory_write(self.va, b"before")


@pytest.fixture(name="devices")
def make_devices() -> Iterator[Pair]:
    with pair(DeviceSpec(vram_size=16 << 20)) as devices:
        yield devices


class Interrupted:
    """Raises SIGINT when the driver is about to run its n-th line; a context manager."""

    def __init__(self, line: int) -> None:
        self.left = line
        self.where = ""

    def __enter__(self) -> Self:
        self._before = sys.gettrace()
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _enter(self, frame: FrameType, event: str, argument: object) -> TraceFunction | None:
        name = frame.f_code.co_filename
        return self._line if name.startswith(ROOMS) and name != HELD else None

    def _line(self, frame: FrameType, event: str, argument: object) -> TraceFunction | None:
        if event == "line" and self.left:
            self.left -= 1
            if not self.left:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                signal.raise_signal(signal.SIGINT)
        return self._line


def alloc_and_free(stage: Stage) -> Callable[[], object]:
    def act() -> None:
        pointer = stage.context.mem_alloc_device(stage.device, 5)
        stage.context.mem_free(pointer)

    return act


SCENES: dict[str, Scene] = {
    "reserve": lambda s: lambda: s.context.virtual_mem_reserve(PAGE),
    "create": lambda s: lambda: s.context.physical_mem_create(s.device, ze.PhysicalMemDesc(PAGE)),
    "map": lambda s: lambda: s.context.virtual_mem_map(s.va + PAGE, PAGE, s.physical),
    "unmap": lambda s: lambda: s.context.virtual_mem_unmap(s.va, PAGE),
    "free": lambda s: lambda: s.context.virtual_mem_free(s.va, 4 * PAGE),
    "access": lambda s: lambda: s.context.virtual_mem_set_access_attribute(s.va, PAGE, 2),
    "device": lambda s: lambda: s.context.mem_alloc_device(s.device, 5),
    "host": lambda s: lambda: s.context.mem_alloc_host(5),
    "shared": lambda s: lambda: s.context.mem_alloc_shared(5, 0, s.device),
    "allocate and free": alloc_and_free,
    "write": lambda s: lambda: s.context.memory_write(s.va, b"x" * 100),
    "copy": lambda s: lambda: s.context.memory_copy(s.va, s.va + 100, 50),
    "get": lambda s: (
        lambda: s.context.mem_get_ipc_handle_with_properties(
            s.va, [ze.IpcPhysMemHandleRangeExtDesc(5)]
        )
    ),
    "put": lambda s: lambda: s.context.mem_put_ipc_handle(s.handle),
    "open": lambda s: lambda: s.context.mem_open_ipc_handle(s.device, s.handle),
    "open and close": lambda s: (
        lambda: s.context.mem_close_ipc_handle(s.context.mem_open_ipc_handle(s.device, s.handle))
    ),
}


# An interrupt before the first step leaves a coroutine that was never begun, and nothing else.
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("stride", [37, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_interrupt_at_any_line_loses_nothing(devices: Pair, scene: Scene, stride: int) -> None:
    # At one line of the call after the other, until it is over before the interrupt comes.
    for line in range(1, MOST_LINES, stride):
        act = scene(Stage(devices))
        interrupted = Interrupted(line)
        try:
            with interrupted:
                act()
        except KeyboardInterrupt:
            pass
        else:
            assert not interrupted.where, f"the interrupt at {interrupted.where} was swallowed"
        check(devices, interrupted.where)
        if not interrupted.where:
            return
    raise AssertionError(f"the call has more than {MOST_LINES} lines")


def check(devices: Pair, where: str) -> None:
    """Check everything; then have the driver give all back, and begin anew with another one."""
    devices.check()
    state = devices.driver._process.current().state
    device = devices.statistics()
    lanes = [*state.devices[0].lanes.idle, *state.devices[0].lanes.broken]
    staged = sum(lane.stage is not None for lane in lanes)
    exported = len(state.exports)
    held = device.object_count, device.import_count, device.export_count, device.queue_count
    known = len(state.physical) + len(state.allocations) + staged
    assert held == (known, len(state.imports), exported, len(lanes)), where
    devices.driver.close()
    devices.driver = devices.connect("next")
    devices.assert_nothing_left()
