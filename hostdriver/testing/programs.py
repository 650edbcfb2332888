"""The programs of a pair: one driver each, as if each were a process of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, final

from firmware.link.errors import LinkError
from hostdriver.api.driver import Driver
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.runtime.address_space import AddressSpace
from hostdriver.runtime.attach import attach_error
from hostdriver.runtime.beside import Alone
from hostdriver.runtime.process import Process
from hostdriver.runtime.runner import Runner
from hostdriver.runtime.session import Session
from hostdriver.testing.leftovers import (
    Held,
    complain,
    held_by_device,
    held_by_driver,
    left_by_program,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from firmware.abi.statistics import DeviceStatistics
    from firmware.link.ends import HostEnd
    from hostdriver.core.state import DriverState

ARENA_BYTES: Final = 1 << 40
"""Addresses of each program: all programs of all pairs share those of one process."""


@final
class Programs:
    """Drivers that live in one process and know nothing of each other.

    Owner: a pair. Each has its own session with every device, its own state, and its own part of
    the process's addresses. A closed one is forgotten.
    """

    def __init__(
        self,
        device_count: int,
        attach: Callable[[int, str], HostEnd],
        told: list[Callable[[], bool]],
    ) -> None:
        """Make drivers; `attach` attaches one to a device, by number and the program's name.

        `told` gets what lets a program go on while somebody waits.
        """
        self._told = told
        self._device_count = device_count
        self._attach = attach
        self._pid = os.getpid()
        self._processes: list[tuple[str, Process]] = []

    def connect(self, name: str) -> Driver:
        """Connect one more program; without a name it is called by its number.

        Raises:
            ZeError: a device refuses.
        """
        title = name or f"program {len(self._processes) + 1}"
        process = Process(lambda: self._runner(title))
        self._processes.append((title, process))
        return Driver(process)

    def check(self) -> None:
        """Raise AssertionError when the state of an open driver contradicts itself."""
        for _, state in self._open():
            state.check()

    def assert_nothing_left(self, statistics: Sequence[DeviceStatistics]) -> None:
        """Look whether open drivers hold anything but what they need for themselves.

        Raises:
            AssertionError: a program made something and did not give it back, or a driver forgot
                something on the device whose statistics do not tell the same.
        """
        held = [Held()] * self._device_count
        lines: list[str] = []
        for name, state in self._open():
            lines.extend(f"{name}: {line}" for line in left_by_program(state))
            held = [
                sum_ + held_by_driver(device)
                for sum_, device in zip(held, state.devices, strict=True)
            ]
        complain(lines)
        for index, (expected, counted) in enumerate(zip(held, statistics, strict=True)):
            found = held_by_device(counted)
            if found != expected:
                complain([f"device {index}: {found}, drivers know of {expected}"])

    def close(self) -> None:
        """Close every driver."""
        for _, process in self._processes:
            process.close()

    def _open(self) -> Iterator[tuple[str, DriverState]]:
        for name, process in self._processes:
            try:
                yield name, process.current().state
            except ZeError:
                continue

    def _runner(self, name: str) -> Runner:
        """Attach to every device.

        Raises:
            ZeError: one refuses, or this is a child of the process in which the pair lives.
        """
        if os.getpid() != self._pid:
            raise ZeError(
                ZeResult.ZE_RESULT_ERROR_UNINITIALIZED,
                "devices that live in the parent's memory cannot be used after a fork",
            )
        ends: list[HostEnd] = []
        try:
            for index in range(self._device_count):
                ends.append(self._attach(index, name))  # noqa: PERF401 - closed if one fails
            sessions = [Session(end) for end in ends]
            alone = Alone(lambda room: sessions[room.device].has_room(room.queue, room.count))
            self._told.append(alone.carry_on)
            space = AddressSpace(ARENA_BYTES)
            return Runner(sessions, space, socket="in process", beside=alone)
        except BaseException as error:
            for end in ends:
                end.close()
            if isinstance(error, LinkError):
                raise attach_error(error) from error
            raise
