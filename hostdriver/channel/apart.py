"""Drivers of C programs in processes of their own: each starts with its program and ends with it.

The emulator's thread serves the calls of all programs; apart, each program's driver has a processor
to itself, and one that is busy holds up no other.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final, NamedTuple, final

from hostdriver.channel.relay import Relay
from hostdriver.runtime.environment import child_environment

if TYPE_CHECKING:
    import socket

    from firmware.link.handshake import Agreement
    from firmware.link.programs import LocalDevices
    from hostdriver.channel.recorder import Recorder


PLAIN: Final = "hostdriver.channel.driver"
"""Module that the process of a driver runs."""
PATIENCE_SECONDS: Final = 5.0
"""Longest time that a driver has to tell what its program left."""


class _Driver(NamedTuple):
    """One driver, and what takes its records."""

    process: subprocess.Popen[bytes]
    relay: Relay | None


@final
class DriverProcesses:
    """Starts a driver for each program (see `firmware.link.programs.ProgramHost`).

    Owner: the emulator. Invariant: every process that was started is watched until it has ended,
    and so is what it records until that ends.
    """

    __slots__ = ("_devices", "_module", "_processes", "_recorder", "_socket")

    def __init__(
        self,
        devices: LocalDevices,
        socket: str,
        recorder: Recorder | None = None,
        *,
        module: str = PLAIN,
    ) -> None:
        """Watch processes with `devices`; drivers attach to them at `socket`.

        A recorder is told what programs do, and belongs to this object. `module` is what each
        process runs.
        """
        self._module = module
        self._devices = devices
        self._socket = socket
        self._recorder = recorder
        self._processes: dict[int, _Driver] = {}

    def accept(self, connection: socket.socket, agreement: Agreement) -> None:
        """Start the driver of the program at the other end of a socket, which it takes over.

        Raises:
            OSError: the system gives no process or descriptor.
        """
        with contextlib.ExitStack() as undo:
            relay, told = self._begin_relay(undo)
            process = self._start(connection.fileno(), agreement, told)
            undo.callback(process.kill)
            ended = os.pidfd_open(process.pid)
            undo.callback(os.close, ended)
            self._devices.watch(ended, lambda: self._reap(ended))
            undo.pop_all()
        self._processes[ended] = _Driver(process, relay)
        connection.close()

    def _begin_relay(self, undo: contextlib.ExitStack) -> tuple[Relay | None, int]:
        """Return what takes the records of a driver, and the descriptor that it writes them to.

        The descriptor is closed with `undo`, and by `_start`; -1: nobody wants records.
        """
        if self._recorder is None:
            return None, -1
        taken, told = os.pipe()
        relay = Relay(self._recorder, taken)
        undo.callback(relay.close)
        try:
            self._devices.watch(taken, lambda: self._take(relay))
        except BaseException:
            os.close(told)
            raise
        undo.callback(self._devices.unwatch, taken)
        return relay, told

    def _start(self, number: int, agreement: Agreement, told: int) -> subprocess.Popen[bytes]:
        """Start a driver, which inherits two descriptors; `told` is closed here."""
        watching = 0 if self._recorder is None else int(self._recorder.watching)
        try:
            return subprocess.Popen(
                [
                    *(sys.executable, "-m", self._module, self._socket, str(number)),
                    agreement.hello.pack().hex(),
                    *(str(self._devices.count), str(told), str(watching)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                env=child_environment(),
                pass_fds=(number,) if told < 0 else (number, told),
            )
        finally:
            if told >= 0:
                os.close(told)

    def _take(self, relay: Relay) -> None:
        if not relay.take():
            # Else it is readable for ever; it is closed with its process.
            self._devices.unwatch(relay.fileno())

    def poll(self) -> bool:
        """Carry nothing on: drivers do it themselves."""
        return False

    def has_work(self) -> bool:
        """Return False: what drivers do is seen in their rings."""
        return False

    def posted(self) -> list[tuple[memoryview, bytes]]:
        """Return no words: what drivers do is seen in their rings."""
        return []

    def set_asleep(self, *, asleep: bool) -> None:
        """Tell nobody: drivers look at the rings of the devices."""

    def close(self) -> None:
        """End all drivers, and hear what they tell at their ends; a second call does nothing."""
        for driver in self._processes.values():
            driver.process.terminate()
        for ended in tuple(self._processes):
            self._reap(ended)
        if self._recorder is not None:
            self._recorder.close()

    def _reap(self, ended: int) -> None:
        driver = self._processes.pop(ended, None)
        if driver is None:
            return
        self._devices.unwatch(ended)
        os.close(ended)
        if driver.relay is not None:
            if not driver.relay.drain(PATIENCE_SECONDS):
                driver.process.kill()
            self._devices.unwatch(driver.relay.fileno())
            driver.relay.close()
        driver.process.wait()
