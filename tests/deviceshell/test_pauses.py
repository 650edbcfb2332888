"""What the emulator changes in its interpreter while it runs, so that nothing stops the pump."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

import pytest
import trio

from device.core.spec import DeviceSpec
from device.shell.emulator import NEVER, SWITCH_INTERVAL_SECONDS, Emulator, EmulatorConfig

if TYPE_CHECKING:
    from pathlib import Path


def test_all_objects_are_never_collected_while_it_runs(tmp_path: Path) -> None:
    config = EmulatorConfig(socket_path=tmp_path / "socket", specs=(DeviceSpec(vram_size=1 << 20),))
    before = gc.get_threshold(), sys.getswitchinterval()
    found: list[tuple[int, float]] = []

    async def run() -> None:
        emulator = Emulator(config)
        try:
            with trio.CancelScope() as scope:

                def ready() -> None:
                    found.append((gc.get_threshold()[2], sys.getswitchinterval()))
                    scope.cancel()

                await emulator.run(ready=ready)
        finally:
            emulator.close()

    trio.run(run)

    [(threshold, interval)] = found
    assert threshold == NEVER
    assert interval == pytest.approx(SWITCH_INTERVAL_SECONDS)
    assert before == (gc.get_threshold(), sys.getswitchinterval())
