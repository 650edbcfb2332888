"""One program's driver in a process of its own: `python -m hostdriver.channel.driver`.

Arguments: the emulator's socket, the descriptor of the program's socket, the program's hello, how
many devices there are, the descriptor for records (-1: none) and what they are to tell.
It serves the program over its channel, as an emulator does, and the devices over shared memory.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, final

from firmware.abi.channel import Watching
from firmware.abi.handshake import HandshakeStatus, Welcome
from firmware.link.client import attach_for
from firmware.link.errors import LinkError, Refused
from firmware.link.handshake import Offer, examine, name_in
from firmware.link.programs import LocalAttachment
from firmware.link.server import refuse
from firmware.link.sleep import may_sleep
from firmware.link.waiting import SPIN_SECONDS
from hostdriver.channel.host import Programs
from hostdriver.channel.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import TypeAlias

    from firmware.abi.handshake import Hello

    Follow: TypeAlias = Callable[[Path, Programs, "RemoteDevices"], "Follower | None"]

FOREVER: Final = -1.0
BREATH_SECONDS: Final = 1e-3
"""Longest time in which ends of the program and the emulator are not looked at."""
NAP_SECONDS: Final = 1e-3
"""Longest sleep while a device has something to answer."""


class Follower(Protocol):
    """Who comes in between programs and their drivers in this process."""

    def tell(self) -> None:
        """Tell what happened; called often, it may not raise."""
        ...

    def close(self) -> None:
        """Tell the last, and end; it may not raise."""
        ...


@final
class RemoteDevices:
    """The devices of an emulator elsewhere, for one program (see `firmware.link.programs`).

    Owner: the process.
    """

    def __init__(self, path: Path, count: int, program: socket.socket) -> None:
        """Attach to the emulator at `path` for the program at the other end of a socket."""
        self.count = count
        self.is_gone = False
        """Whether the emulator has ended."""
        self.connecting: Callable[[Path, str, int], None] | None = None
        """Told of path, name and process before each connection, which fails as it raises."""
        self._path = path
        self._program = program
        self._epoll = select.epoll()
        self._handlers: dict[int, Callable[[], None]] = {}

    def attach(self, index: int, hello: Hello, pid: int) -> LocalAttachment:  # noqa: ARG002 - it stands in the hello
        """Attach a client whose pages are the program's (see `LocalDevices`).

        Raises:
            LinkError: there is no emulator, or it refuses.
        """
        if self.connecting is not None:
            self.connecting(self._path, name_in(hello), pid)
        end, segment_file = attach_for(self._program, self._path, hello)
        *pidfd, connection = end.peer.filenos()
        for number in pidfd:
            self.watch(number, self.lose)
        self.watch(connection, self.lose, hang_up=True)
        return LocalAttachment(end, segment_file, _nothing, end.doorbells.poke)

    def lose(self) -> None:
        """Note that the emulator has ended, or wants this process to end."""
        self.is_gone = True

    def watch(self, descriptor: int, handler: Callable[[], None], *, hang_up: bool = False) -> None:
        """Call `handler` while a descriptor is readable, or has hung up."""
        self._epoll.register(descriptor, select.EPOLLRDHUP if hang_up else select.EPOLLIN)
        self._handlers[descriptor] = handler

    def unwatch(self, descriptor: int) -> None:
        """Forget a descriptor, before it is closed."""
        if self._handlers.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    def wait(self, seconds: float, look_seconds: float, goes_on: Callable[[], bool]) -> None:
        """Wait so long, or until it need not go on, while the emulator is listened to."""
        end = time.monotonic() + seconds
        while goes_on() and (left := end - time.monotonic()) > 0:
            self.dispatch(min(left, look_seconds))

    def dispatch(self, seconds: float) -> bool:
        """Call the handlers of what is ready within so long; return whether there was any."""
        ready = self._epoll.poll(seconds)
        for descriptor, _ in ready:
            handler = self._handlers.get(descriptor)
            if handler is not None:
                handler()
        return bool(ready)


def serve(
    path: Path,
    program: socket.socket,
    packet: bytes,
    device_count: int,
    recorder: Recorder | None = None,
    follow: Follow | None = None,
) -> None:
    """Serve a program until it has ended, or the emulator has, or SIGTERM comes.

    A recorder is told what the program does, and belongs to this call. `follow` may come in between
    before the program begins.

    Raises:
        LinkError, OSError: it cannot be served; the program was told.
    """
    offer = Offer(device_count=device_count)
    agreement = examine(packet, offer)
    if isinstance(agreement, Welcome):
        refuse(program, agreement)
        return
    devices = RemoteDevices(path, device_count, program)
    programs = Programs(devices, str(path), recorder)
    _end_at_signal(devices)
    follower = None if follow is None else follow(path, programs, devices)
    try:
        programs.accept(program, agreement)
    except Refused as refused:
        refuse(program, offer.refuse(refused.status, refused.detail))
        raise
    except (LinkError, OSError):
        refuse(program, offer.refuse(HandshakeStatus.FULL))
        raise
    try:
        while len(programs) and not devices.is_gone:
            _turn(devices, programs)
            if follower is not None:
                follower.tell()
    finally:
        programs.close()
        if follower is not None:
            follower.close()


def _end_at_signal(devices: RemoteDevices) -> None:
    """Let SIGTERM end the program's session in its order, so that its account is told."""
    woken, waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, _wake)
    devices.watch(woken, devices.lose)


def _wake(number: int, frame: FrameType | None) -> None:
    """Do nothing: that a signal came is written to the pipe that wakes the loop."""


def _turn(devices: RemoteDevices, programs: Programs) -> None:
    """Carry calls on while there are any, look for more for a moment; then look at all else."""
    clock = time.perf_counter
    breath = clock() + BREATH_SECONDS
    end = clock() + SPIN_SECONDS
    while clock() < min(end, breath):
        if programs.poll():
            end = clock() + SPIN_SECONDS
    # A device that has something to answer is looked at again soon, and with it all else.
    is_busy = programs.is_busy
    if end >= breath:
        devices.dispatch(0)
    elif may_sleep(
        lambda: programs.set_asleep(asleep=True), lambda: not is_busy and programs.has_work()
    ):
        devices.dispatch(NAP_SECONDS if is_busy else FOREVER)


def main(follow: Follow | None = None) -> int:
    """Be the driver of one program; return the exit status."""
    path, number, packet, device_count, told, watching = sys.argv[1:]
    recorder = Recorder(int(told), Watching(int(watching))) if int(told) >= 0 else None
    # The terminal's Ctrl-C is the program's; this ends with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=int(number)) as program:
        program.setblocking(False)  # noqa: FBT003 - positional only
        try:
            serve(Path(path), program, bytes.fromhex(packet), int(device_count), recorder, follow)
        except (LinkError, OSError) as error:
            sys.stderr.write(f"emuzero: the driver of a program cannot begin: {error}\n")
            return 1
    return 0


def _nothing() -> None:
    """Do nothing: the device detaches a client whose socket is closed."""


if __name__ == "__main__":
    sys.exit(main())
