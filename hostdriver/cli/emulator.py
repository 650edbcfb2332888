"""The emulator in this process: the one module of the command line that knows the device.

It composes specifications, the device's shell, the drivers of C programs and the rules of fault
injection, nothing else.
Importing it brings trio and numpy along, so that only `emuzero serve` does.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import trio

from device.core.spec import DeviceSpec, Profile, SpecError
from device.inject import device_taps
from device.shell.emulator import Emulator, EmulatorConfig
from device.shell.taps import shell_taps
from firmware.inject import Board, Injector, Scenario
from hostdriver.channel.apart import PLAIN, DriverProcesses
from hostdriver.channel.host import Programs
from hostdriver.inject.control import Control
from hostdriver.inject.desk import Desk
from hostdriver.inject.joining import is_asked
from hostdriver.inject.programs import program_taps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from firmware.abi.registers import DeviceStatus
    from firmware.inject import Tap
    from hostdriver.channel.recorder import Recorder

NANOSECONDS: Final = 1e9
NO_RULES: Final = Scenario()
FOLLOWING: Final = "hostdriver.inject.apart"
"""Module of the driver of a C program in a process of its own, where it follows rules."""


class Powered(NamedTuple):
    """One device after its boot."""

    spec: DeviceSpec
    status: DeviceStatus
    refusal: str = ""
    """Why its firmware image was refused; empty when it runs."""


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


def serve(  # noqa: PLR0913 - one for each thing that the command line may say
    specs: tuple[DeviceSpec, ...],
    socket_path: Path,
    *,
    image: bytes | None,
    on_demand: bool,
    ready: Callable[[tuple[Powered, ...]], None],
    recorder: Recorder | None = None,
    apart: bool = False,
    scenario: Scenario = NO_RULES,
    counts_all: bool = False,
) -> None:
    """Run an emulator until a signal, or on demand until nobody needs it; `ready` when it listens.

    A recorder is told what C programs do, and belongs to the emulator. With `apart` each C program
    has its driver in a process of its own. The scenario's rules are in before the devices boot, and
    with `counts_all` every point is counted.

    Raises:
        RuleError: a rule that cannot be carried out.
        AttachError: the socket cannot be bound.
        OSError: the system gives no memory or descriptors.
    """
    config = EmulatorConfig(
        specs=specs, socket_path=socket_path, image=image, on_demand=on_demand, boots=False
    )
    emulator = Emulator(config)
    try:
        programs: Programs | None = None
        if apart:
            # Rules that come later reach those drivers only that follow them from the start.
            follows = bool(scenario.rules) or counts_all or is_asked()
            emulator.serve_programs(
                DriverProcesses(
                    *(emulator.local, str(socket_path), recorder),
                    module=FOLLOWING if follows else PLAIN,
                )
            )
        else:
            programs = Programs(emulator.local, str(socket_path), recorder)
            emulator.serve_programs(programs)
        take_rules(emulator, scenario, programs, counts_all=counts_all)
        powered = _boot(emulator)
        trio.run(partial(emulator.run, ready=partial(ready, powered)))
    finally:
        emulator.close()


def _boot(emulator: Emulator) -> tuple[Powered, ...]:
    """Boot the devices; return what became of each."""
    refusals = emulator.boot()
    return tuple(
        Powered(device.spec, device.status, "" if refused is None else str(refused))
        for device, refused in zip(emulator.devices, refusals, strict=True)
    )


def take_rules(
    emulator: Emulator,
    scenario: Scenario,
    programs: Programs | None = None,
    *,
    counts_all: bool = False,
) -> Control:
    """Have an emulator take rules, those of a scenario at once; return what others talk to.

    `programs` are the drivers in its own process, where they reach points, too.

    Raises:
        RuleError: a rule of the scenario cannot be carried out.
        OSError: no descriptors left.
    """

    def clock() -> float:
        return emulator.now() / NANOSECONDS

    injector = Injector(clock, scenario.seed)
    injector.counts_all = counts_all
    board = Board(injector, _taps(emulator, programs, injector))
    desk = Desk(injector, board, clock, os.getpid())
    control = Control(emulator.local, desk)
    emulator.serve_faults(control)
    # What a rule held back in a device goes on in its next round.
    desk.on_change = lambda _: emulator.pump.work_soon()
    for rule in scenario.rules:
        desk.add(rule)
    desk.update()
    return control


def _taps(emulator: Emulator, programs: Programs | None, injector: Injector) -> tuple[Tap, ...]:
    """Return all places of the emulator's process where an injection can act."""
    inside = [tap for device in emulator.devices for tap in device_taps(device, injector)]
    of_programs = () if programs is None else program_taps(programs, injector)
    return (*inside, *shell_taps(emulator.server, injector), *of_programs)


__all__ = ["DeviceSpec", "Powered", "SpecError", "make_spec", "serve", "take_rules"]
