"""The driver of this process: attached once, and once more in every child after a fork."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from typing import TYPE_CHECKING, Final, NamedTuple, final

from hostdriver.core.failures import device_lost
from hostdriver.core.results import Refusal, ZeError, failed
from hostdriver.core.state import DriverState, ProcessFacts, begin, finish
from hostdriver.core.visibility import read_visibility
from hostdriver.runtime.discovery import disabled_extensions
from hostdriver.runtime.interrupts import Interrupts
from hostdriver.runtime.tickets import drop_ticket

if TYPE_CHECKING:
    from collections.abc import Callable

    from hostdriver.runtime.runner import Runner


class Attached(NamedTuple):
    """One process's link to the emulator, and what it has made there."""

    pid: int
    runner: Runner
    state: DriverState


@final
class Process:
    """The link and the state of whichever process calls.

    Owner: the driver object of the application. Invariant: what was attached in one process is
    never used in another: a child attaches anew at its first call, and its copies of the parent's
    descriptors are closed without a word to the device, so that the parent is not disturbed.
    """

    __slots__ = ("__weakref__", "_attach", "_attached", "_closed", "_lock")

    def __init__(self, attach: Callable[[], Runner]) -> None:
        """Attach this process: `attach` makes the links, once for each process.

        Raises:
            ZeError: `attach` failed, or a device has no room for this process.
        """
        self._attach = attach
        self._closed = False
        self._lock = threading.Lock()
        self._attached: Attached | None = self._begin()
        _processes.add(self)

    @property
    def runner(self) -> Runner | None:
        """This process's runner; None before a child's first call, and when it was closed."""
        attached = self._attached
        return None if attached is None or attached.pid != os.getpid() else attached.runner

    def current(self) -> Attached:
        """Return this process's link, made now if it is a child's first call.

        Raises:
            ZeError: the driver was closed, or the emulator cannot be reached any more.
        """
        attached = self._attached
        if attached is not None and attached.pid == os.getpid():
            return attached
        if attached is not None:
            # A fork that Python does not know of; its hook would have come here before.
            self.forget()
        with self._lock:
            if self._closed:
                raise device_lost("the driver was closed")
            if self._attached is None:
                self._attached = self._begin()
            return self._attached

    def forget(self) -> None:
        """Drop the parent's link in a child; no other thread exists then."""
        attached, self._attached = self._attached, None
        # A thread of the parent may have held it at the moment of the fork.
        self._lock = threading.Lock()
        if attached is not None:
            attached.runner.abandon()
            close_descriptors(attached.state)
            drop_tickets(attached.state)

    def close(self) -> None:
        """End the link: the devices take back everything; a second call does nothing."""
        with Interrupts():
            with self._lock:
                self._closed = True
                attached, self._attached = self._attached, None
            if attached is not None and attached.pid == os.getpid():
                with contextlib.suppress(ZeError):
                    attached.runner.run(finish(attached.state))
                attached.runner.close()

    def _begin(self) -> Attached:
        disabled = disabled_extensions()
        visibility = read_visibility(os.environ)
        runner = self._attach()
        facts = ProcessFacts(
            pid=os.getpid(),
            devices=tuple(session.facts for session in runner.sessions),
            arena=runner.space.arena,
            page_size=os.sysconf("SC_PAGE_SIZE"),
            disabled_extensions=disabled,
            visibility=visibility,
            socket=runner.socket,
        )
        try:
            attached = Attached(facts.pid, runner, runner.run(begin(facts)))
        except BaseException as error:
            runner.close()
            if isinstance(error, Refusal):
                raise failed(error, "a device does not take this process") from error
            raise
        for hear in on_attach:
            hear(runner)
        return attached


def close_descriptors(state: DriverState) -> None:
    """Close the descriptors of a process's memory, for when nobody may ask questions any more."""
    for memory in state.memories():
        if memory.descriptor is not None:
            os.close(memory.descriptor)


def drop_tickets(state: DriverState) -> None:
    """Close the descriptors by which a process's exports are known."""
    for export in state.exports:
        drop_ticket(export.ticket)
    for memory in state.memories():
        if memory.file is not None:
            drop_ticket(memory.file)


on_attach: Final[list[Callable[[Runner], None]]] = []
"""Told of each runner of this process's drivers, in children too; they may not raise."""
_processes: weakref.WeakSet[Process] = weakref.WeakSet()


def _forget_all() -> None:
    for process in tuple(_processes):
        process.forget()


os.register_at_fork(after_in_child=_forget_all)
