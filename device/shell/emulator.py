"""The emulator: devices, pump and server of one process, from start to orderly end."""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import signal
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

import trio

from device.core.device import Device
from device.core.ports import Ports
from device.core.spec import DeviceSpec
from device.mcu import BootCode
from device.shell.hostmemory import HostMemory, SystemTokens
from device.shell.limits import raise_descriptor_limit
from device.shell.local import LocalDevices
from device.shell.pump import Pump
from device.shell.server import Server
from device.shell.workers import Workers
from firmware.image import reference_image
from firmware.link.compiled import prepare
from firmware.link.linux import map_anonymous
from firmware.link.runtime_dir import listen_socket

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from device.core.firmware import BootRefused
    from firmware.link.programs import FaultHost, ProgramHost

SWITCH_INTERVAL_SECONDS: Final = 50e-6
"""How soon a copying thread gets the interpreter from the pump: with Python's 5 ms a 4 MiB chunk
moves at 0.7 GB/s beside a busy pump, with this at its own speed."""
NEVER: Final = 1 << 30
"""Collections of the middle generation between two of all objects. Those would stop the device for
a millisecond for each thousand objects that a client has. The device makes no reference cycles;
what trio makes is found while it is young."""
LINGER_SECONDS: Final = 10.0
"""How long an emulator that was started on demand waits for its first client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatorConfig:
    """What to run."""

    socket_path: Path
    """Where clients connect."""
    specs: tuple[DeviceSpec, ...] = field(default_factory=lambda: (DeviceSpec(),))
    """One device each."""
    image: bytes | None = None
    """Firmware image; None boots the reference firmware."""
    on_demand: bool = False
    """End when the last client has left, or none came."""
    boots: bool = True
    """Boot the devices at once; else they have power and wait for `Emulator.boot`, so that rules
    can be there before."""


@final
class Emulator:
    """Devices and what serves them.

    Owner: the process. Invariant: after `close` nothing is left: clients are detached, threads have
    ended, the socket's name is gone.
    """

    __slots__ = (
        "_clock",
        "_closed",
        "_config",
        "_faults",
        "_listener",
        "_programs",
        "_start",
        "_workers",
        "devices",
        "local",
        "pump",
        "server",
    )

    def __init__(
        self, config: EmulatorConfig, *, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        """Make devices, boot them unless that is to come, and listen.

        `clock` gives nanoseconds from any start.

        A refused firmware image is no error here: the device stays in its boot state and says so.

        Raises:
            AttachError: the socket cannot be bound.
            OSError: no memory or descriptors left.
        """
        self._config = config
        self._clock = clock
        self._closed = False
        self._programs: ProgramHost | None = None
        self._faults: FaultHost | None = None
        self._start = clock()
        raise_descriptor_limit()
        with contextlib.ExitStack() as undo:
            self._listener: socket.socket = listen_socket(config.socket_path)
            undo.callback(self._remove_socket)
            self._workers = Workers(max(1, min(2, len(os.sched_getaffinity(0)))))
            undo.callback(self._workers.close)
            self._workers.defer(prepare)
            memory = HostMemory(self._workers.defer)
            self.devices = _make_devices(config, memory, self.now())
            if config.boots:
                self.boot()
            self.pump = Pump(self.devices, self.now, self._workers)
            self.server = Server(self._listener, self.devices, self.pump, memory, self.now)
            self.local = LocalDevices(self.devices, self.pump, memory, self.now)
            undo.pop_all()

    @property
    def socket_path(self) -> Path:
        """Where clients connect."""
        return self._config.socket_path

    def boot(self) -> tuple[BootRefused | None, ...]:
        """Boot each device with the configured image; return why it was refused, or None.

        Raises:
            DeviceError: a device runs already.
        """
        image = reference_image() if self._config.image is None else self._config.image
        return tuple(device.boot(image, self.now()) for device in self.devices)

    def serve_programs(self, host: ProgramHost) -> None:
        """Serve C programs too; the emulator owns `host` from now on."""
        self._programs = host
        self.pump.serve_programs(host)
        self.server.serve_programs(host)

    def serve_faults(self, host: FaultHost) -> None:
        """Serve those who bring rules too; the emulator owns `host` from now on."""
        self._faults = host
        self.server.serve_faults(host)

    def now(self) -> int:
        """Return device time: nanoseconds since the emulator began."""
        return self._clock() - self._start

    async def run(self, *, ready: Callable[[], None]) -> None:
        """Serve until SIGINT, SIGTERM or, on demand, until nobody needs it any more; then close.

        `ready` is called when the first client can connect, and signals are already taken.
        """
        before, thresholds = sys.getswitchinterval(), gc.get_threshold()
        sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
        gc.set_threshold(*thresholds[:2], NEVER)
        try:
            with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_end_on_signal, signals, nursery.cancel_scope)
                    nursery.start_soon(self.server.run)
                    nursery.start_soon(self.pump.run)
                    if self._config.on_demand:
                        nursery.start_soon(self._end_when_idle, nursery.cancel_scope)
                    ready()
                self.close()
                # One that came meanwhile asked for what has been done.
                with trio.move_on_after(0):
                    async for _ in signals:
                        pass
        finally:
            gc.set_threshold(*thresholds)
            sys.setswitchinterval(before)

    def close(self) -> None:
        """Detach all clients, end the threads, remove the socket; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._remove_socket()
        if self._faults is not None:
            self._faults.close()
        if self._programs is not None:
            self._programs.close()
        self.pump.close()
        self._workers.close()

    async def _end_when_idle(self, scope: trio.CancelScope) -> None:
        """Cancel when every client has left, or none came in time."""
        with trio.move_on_after(LINGER_SECONDS):
            await self.pump.first_attached.wait()
        await self.pump.when_empty()
        scope.cancel()

    def _remove_socket(self) -> None:
        with contextlib.suppress(OSError):
            self._config.socket_path.unlink()
        self._listener.close()


def _make_devices(config: EmulatorConfig, memory: HostMemory, now: int) -> tuple[Device, ...]:
    """Return the devices with power; nothing has booted."""
    emulator_id = secrets.randbits(64)
    ports = Ports(
        tokens=SystemTokens(),
        system_memory=memory,
        cpu_count=len(os.sched_getaffinity(0)),
    )
    devices: list[Device] = []
    for index, spec in enumerate(config.specs):
        vram = map_anonymous(spec.vram_size)
        devices.append(
            Device(
                spec,
                vram.view,
                ports,
                BootCode(),
                now=now,
                device_index=index,
                emulator_id=emulator_id,
            )
        )
    return tuple(devices)


async def _end_on_signal(signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
    async for _ in signals:
        scope.cancel()
        return
