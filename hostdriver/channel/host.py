"""All C programs of one emulator: accepted, carried on, watched, and ended when they are gone."""

from __future__ import annotations

import contextlib
import logging
import os
import socket as sockets
from typing import TYPE_CHECKING, Final, final

from firmware.abi.handshake import Purpose
from firmware.link.bells import EventfdBell
from firmware.link.carrier import SocketCarrier
from firmware.link.descriptors import send_packet
from firmware.link.errors import LinkError
from firmware.link.handshake import name_in, say_hello
from firmware.link.peer import ProcessPeer
from firmware.link.segment import Segment
from hostdriver.channel.devices import ProgramDevice
from hostdriver.channel.items import MalformedMessageError
from hostdriver.channel.places import Places
from hostdriver.channel.ports import Caller, Ports
from hostdriver.channel.session import Session
from hostdriver.channel.slots import CHANNEL_SIZE, Slots
from hostdriver.channel.vigil import ProgramVigil
from hostdriver.channel.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.link.handshake import Agreement
    from firmware.link.programs import LocalDevices
    from hostdriver.channel.recorder import Recorder

_LOG: Final = logging.getLogger(__name__)


@final
class Program:
    """One program: its session and what watches it."""

    __slots__ = ("bell", "devices", "peer", "session", "slots")

    def __init__(
        self,
        session: Session,
        slots: Slots,
        devices: Sequence[ProgramDevice],
        bell: EventfdBell,
        peer: ProcessPeer,
    ) -> None:
        self.session = session
        self.slots = slots
        self.devices = tuple(devices)
        self.bell = bell
        self.peer = peer

    @property
    def is_waiting(self) -> bool:
        """Whether a call waits for a device, here or in the program."""
        return self.session.under_way.has_waits or any(device.is_busy for device in self.devices)

    def close(self) -> None:
        """End the session and let go of the process."""
        with contextlib.ExitStack() as closing:
            closing.callback(self.peer.close)
            closing.callback(self.bell.close)
            self.session.close()


@final
class Programs:
    """The drivers of all C programs (see `firmware.link.programs.ProgramHost`).

    Owner: the emulator. Invariant: descriptors of a program are watched exactly while it is here.
    """

    __slots__ = ("_asleep", "_programs", "_recorder", "_socket", "_vigil", "devices", "ports")

    def __init__(
        self, devices: LocalDevices, socket: str, recorder: Recorder | None = None
    ) -> None:
        """Serve programs with these devices; `socket` is where the emulator listens.

        A recorder is told what programs do, and belongs to the host.
        """
        self._recorder = recorder
        self.devices = devices
        """The devices of the emulator."""
        self._socket = socket
        self.ports = Ports(Session.answer)
        """Where something may come in between programs and their drivers."""
        self._programs: tuple[Program, ...] = ()
        self._asleep = True
        self._vigil = ProgramVigil(devices, self._look_after)

    def __len__(self) -> int:
        return len(self._programs)

    def accept(self, connection: sockets.socket, agreement: Agreement) -> None:
        """Begin a session for the program at the other end of a socket.

        Raises:
            LinkError, OSError: it cannot be served; nothing is left, the socket is the caller's.
        """
        with contextlib.ExitStack() as undo:
            channel, descriptor = Segment.create(CHANNEL_SIZE)
            undo.callback(channel.close)
            theirs = [descriptor]
            with contextlib.ExitStack() as closing:
                closing.callback(_close_all, theirs)
                bell = EventfdBell()
                undo.callback(bell.close)
                peer = ProcessPeer(connection)
                undo.callback(peer.give_back)
                devices: list[ProgramDevice] = []
                undo.callback(_end_all, devices)
                for index in range(self.devices.count):
                    # One by one: those that were made are undone when the next cannot be.
                    devices += [self._attach(index, agreement, peer.pid, theirs)]
                recorder, watch = self._recorder, None
                if recorder is None:
                    slots = Slots(channel, len(devices))
                else:
                    slots = Slots(channel, len(devices), recorder.watching)
                    watch = Watch(recorder, peer.pid, name_in(agreement.hello))
                carrier = SocketCarrier(connection)
                places = Places(channel)
                caller = Caller(peer.pid, name_in(agreement.hello))
                session = Session(
                    *(slots, places, carrier, devices, caller, self.ports),
                    socket=self._socket,
                    watch=watch,
                )
                session.watch_as_wanted()
                program = Program(session, slots, devices, bell, peer)
                self._watch(program, undo)
                welcome = agreement.welcome(CHANNEL_SIZE, 0)
                numbers = (theirs[0], bell.fileno(), *theirs[1:])
                send_packet(connection, welcome.pack(), numbers, sockets.MSG_DONTWAIT)
            undo.pop_all()
        self._programs = (*self._programs, program)
        _LOG.info("process %d, %s, begins", peer.pid, name_in(agreement.hello))
        session.set_asleep(asleep=self._asleep)

    @property
    def is_busy(self) -> bool:
        """Whether something may be ready without a word of a program."""
        return any(program.session.is_busy for program in self._programs)

    def poll(self) -> bool:
        """Carry every program's calls on; return whether any went on."""
        if self._asleep:
            self.set_asleep(asleep=False)
        worked = False
        for program in self._programs:
            try:
                worked = program.session.poll() or worked
            except (LinkError, MalformedMessageError) as problem:
                # What came from its device or from it cannot be used: nobody's bug, and no trace.
                _LOG.warning("the session of process %d ended: %s", program.peer.pid, problem)
                self._end(program)
            except Exception:  # noqa: BLE001 - a bug costs one program its session, no more
                _LOG.exception("the session of process %d ended", program.peer.pid)
                self._end(program)
        if worked and self._recorder is not None:
            self._recorder.flush()
        return worked

    def has_work(self) -> bool:
        """Return whether `poll` would do something."""
        return any(program.session.has_work() for program in self._programs)

    def posted(self) -> list[tuple[memoryview, bytes]] | None:
        """Return the words that programs post by, and what stood there when they were taken."""
        if self._asleep or self.is_busy:
            return None
        return [program.slots.posted for program in self._programs]

    def set_asleep(self, *, asleep: bool) -> None:
        """Say whether programs have to ring."""
        self._asleep = asleep
        for program in self._programs:
            program.session.set_asleep(asleep=asleep)
            if asleep and program.is_waiting:
                self._vigil.begin()

    def watch_as_wanted(self) -> None:
        """Have all programs do what is wanted at the ports now."""
        for program in self._programs:
            program.session.watch_as_wanted()

    def close(self) -> None:
        """End all sessions; a second call does nothing."""
        for let_go in tuple(self.ports.closing):
            let_go()
        self._vigil.close()
        for program in self._programs:
            self._end(program)
        if self._recorder is not None:
            self._recorder.close()

    def _look_after(self) -> bool:
        """Ask the devices of programs that wait to look after them; return whether any does."""
        waiting = [program for program in self._programs if program.is_waiting]
        for program in waiting:
            for device in program.devices:
                device.look_after()
        return bool(waiting)

    def _attach(
        self, index: int, agreement: Agreement, pid: int, theirs: list[int]
    ) -> ProgramDevice:
        hello = say_hello(name_in(agreement.hello), device_index=index, purpose=Purpose.WORK)
        attachment = self.devices.attach(index, hello, pid)
        theirs.append(attachment.segment_descriptor)
        return ProgramDevice(attachment)

    def _watch(self, program: Program, undo: contextlib.ExitStack) -> None:
        bell = program.bell.fileno()
        self.devices.watch(bell, lambda: _take_rings(program))
        undo.callback(self.devices.unwatch, bell)
        *pidfd, connection = program.peer.filenos()
        for number in pidfd:
            self.devices.watch(number, lambda: self._end(program))
            undo.callback(self.devices.unwatch, number)
        self.devices.watch(connection, lambda: self._end(program), hang_up=True)
        undo.callback(self.devices.unwatch, connection)

    def _end(self, program: Program) -> None:
        """End one program's session; a second call does nothing."""
        if program not in self._programs:
            return
        self._programs = tuple(other for other in self._programs if other is not program)
        for number in (program.bell.fileno(), *program.peer.filenos()):
            self.devices.unwatch(number)
        if not any(other.is_waiting for other in self._programs):
            self._vigil.close()
        _LOG.info("process %d has ended its session", program.peer.pid)
        try:
            program.close()
        except Exception:  # noqa: BLE001 - a bug costs one program its session, no more
            _LOG.exception("the session of process %d did not end well", program.peer.pid)


def _take_rings(program: Program) -> None:
    program.bell.clear()


def _end_all(devices: list[ProgramDevice]) -> None:
    for device in devices:
        device.close()


def _close_all(numbers: list[int]) -> None:
    for number in numbers:
        os.close(number)
