"""Drivers of C programs in processes of their own: each starts with its program and ends with it.

The emulator's thread serves the calls of all programs; apart, each program's driver has a processor
to itself, and one that is busy holds up no other.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, final

from hostdriver.runtime.environment import child_environment

if TYPE_CHECKING:
    import socket

    from firmware.link.handshake import Agreement
    from firmware.link.programs import LocalDevices


@final
class DriverProcesses:
    """Starts a driver for each program (see `firmware.link.programs.ProgramHost`).

    Owner: the emulator. Invariant: every process that was started is watched until it has ended.
    """

    __slots__ = ("_devices", "_processes", "_socket")

    def __init__(self, devices: LocalDevices, socket: str) -> None:
        """Watch processes with `devices`; drivers attach to them at `socket`."""
        self._devices = devices
        self._socket = socket
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def accept(self, connection: socket.socket, agreement: Agreement) -> None:
        """Start the driver of the program at the other end of a socket, which it takes over.

        Raises:
            OSError: the system gives no process.
        """
        number = connection.fileno()
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "hostdriver.channel.driver", self._socket, str(number)),
                agreement.hello.pack().hex(),
                str(self._devices.count),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd="/",
            env=child_environment(),
            pass_fds=(number,),
        )
        with contextlib.ExitStack() as undo:
            undo.callback(process.kill)
            ended = os.pidfd_open(process.pid)
            undo.callback(os.close, ended)
            self._devices.watch(ended, lambda: self._reap(ended))
            undo.pop_all()
        self._processes[ended] = process
        connection.close()

    def poll(self) -> bool:
        """Carry nothing on: drivers do it themselves."""
        return False

    def has_work(self) -> bool:
        """Return False: what drivers do is seen in their rings."""
        return False

    def set_asleep(self, *, asleep: bool) -> None:
        """Tell nobody: drivers look at the rings of the devices."""

    def close(self) -> None:
        """End all drivers; a second call does nothing."""
        for process in self._processes.values():
            process.terminate()
        for ended in tuple(self._processes):
            self._reap(ended)

    def _reap(self, ended: int) -> None:
        process = self._processes.pop(ended, None)
        if process is not None:
            self._devices.unwatch(ended)
            os.close(ended)
            process.wait()
