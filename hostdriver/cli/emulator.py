"""The emulator in this process: the one module of the command line that knows the device.

It composes specifications, the device's shell and the drivers of C programs, nothing else.
Importing it brings trio and numpy along, so that only `emuzero serve` does.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import trio

from device.core.spec import DeviceSpec, Profile, SpecError
from device.shell.emulator import Emulator, EmulatorConfig
from hostdriver.channel.apart import DriverProcesses
from hostdriver.channel.host import Programs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from firmware.abi.registers import DeviceStatus
    from hostdriver.channel.recorder import Recorder


class Powered(NamedTuple):
    """One device after its boot."""

    spec: DeviceSpec
    status: DeviceStatus


def make_spec(text: str, *, vram_size: int | None, profile: str | None) -> DeviceSpec:
    """Return the specification in a TOML document, with what the command line says instead.

    Raises:
        SpecError: a value that no device can have.
    """
    spec = DeviceSpec.from_toml(text)
    if profile is not None:
        spec = replace(spec, profile=Profile[profile.upper()])
    if vram_size is not None:
        spec = replace(spec, vram_size=vram_size)
    return spec


def serve(
    specs: tuple[DeviceSpec, ...],
    socket_path: Path,
    *,
    image: bytes | None,
    on_demand: bool,
    ready: Callable[[tuple[Powered, ...]], None],
    recorder: Recorder | None = None,
    apart: bool = False,
) -> None:
    """Run an emulator until a signal, or on demand until nobody needs it; `ready` when it listens.

    A recorder is told what C programs do, and belongs to the emulator. With `apart` each C program
    has its driver in a process of its own, of which no recorder hears.

    Raises:
        AttachError: the socket cannot be bound.
        OSError: the system gives no memory or descriptors.
    """
    config = EmulatorConfig(specs=specs, socket_path=socket_path, image=image, on_demand=on_demand)
    emulator = Emulator(config)
    if apart:
        emulator.serve_programs(DriverProcesses(emulator.local, str(socket_path)))
    else:
        emulator.serve_programs(Programs(emulator.local, str(socket_path), recorder))
    try:
        powered = tuple(Powered(device.spec, device.status) for device in emulator.devices)
        trio.run(partial(emulator.run, ready=partial(ready, powered)))
    finally:
        emulator.close()


__all__ = ["DeviceSpec", "Powered", "SpecError", "make_spec", "serve"]
