"""Looking at an emulator without being one of its clients: statistics of every device."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar, final

from firmware.abi.control import GetStatistics, Subject
from firmware.abi.handshake import HandshakeStatus, Purpose
from firmware.abi.registers import DeviceStatus
from firmware.abi.replies import Statistics
from firmware.abi.statistics import (
    ClientStatistics,
    DeviceStatistics,
    QueueStatistics,
    SpaceStatistics,
)
from firmware.link.client import connect
from firmware.link.errors import LinkError, Refused
from hostdriver.cli.exits import CommandError, NoEmulator
from hostdriver.core.results import ZeError
from hostdriver.runtime.discovery import nobody_listens
from hostdriver.runtime.session import Session

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from firmware.abi import Record

NAME: Final = "emuzero status"
FIRST_RECORDS: Final = 64
"""Records to ask for before it is known how many there are."""
PATIENCE_SECONDS: Final = 10.0
"""How long a device may take for all that it is asked."""

RecordT = TypeVar("RecordT", bound="Record")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReport:
    """What one device said of itself at one moment."""

    index: int
    status: DeviceStatus
    device: DeviceStatistics | None = None
    """None while the device does not run."""
    clients: tuple[ClientStatistics, ...] = ()
    spaces: tuple[SpaceStatistics, ...] = ()
    queues: tuple[QueueStatistics, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an emulator said of itself at one moment."""

    socket: str
    pid: int
    """Its process; 0 when none of its devices runs."""
    devices: tuple[DeviceReport, ...]


@final
class Observer:
    """Links to all running devices of an emulator; a context manager that ends them.

    Owner: a command. Observers are not counted as clients and see every client of the device.
    """

    __slots__ = ("_name", "_path", "_pid", "_sessions", "_stopped")

    def __init__(self, path: Path, name: str = NAME) -> None:
        """Attach to the emulator that listens at `path`.

        Args:
            path: its socket.
            name: what the observer is called.

        Raises:
            NoEmulator: nobody listens there.
            CommandError: it refuses, or breaks the contract; nothing is left open.
        """
        self._path = path
        self._name = name
        self._pid = 0
        self._sessions: dict[int, Session] = {}
        self._stopped: dict[int, DeviceStatus] = {}
        try:
            self._attach_all()
        except BaseException as error:
            self.close()
            if isinstance(error, LinkError):
                raise explain(error, path) from error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the links; a second call does nothing."""
        while self._sessions:
            self._sessions.popitem()[1].close()

    def read(self) -> Report:
        """Ask every device for its statistics.

        Raises:
            NoEmulator: the emulator has ended meanwhile.
            CommandError: a device refuses, contradicts itself or does not answer; the links are of
                no more use.
        """
        found = {index: DeviceReport(index=index, status=s) for index, s in self._stopped.items()}
        try:
            for index, session in self._sessions.items():
                with _patience(session):
                    found[index] = _read_device(index, session)
        except ZeError as error:
            raise NoEmulator(
                f"the emulator at {self._path} is gone: {error.description}"
            ) from error
        devices = tuple(found[index] for index in sorted(found))
        return Report(socket=str(self._path), pid=self._pid, devices=devices)

    def _attach_all(self) -> None:
        """Attach to every device that runs; note the state of those that do not."""
        count: int | None = None
        index = 0
        while count is None or index < count:
            try:
                end = connect(self._path, self._name, device_index=index, purpose=Purpose.OBSERVE)
            except Refused as refused:
                # As long as no device has said how many there are, the first missing one ends it.
                if refused.status is HandshakeStatus.NO_DEVICE and index:
                    return
                if refused.status is not HandshakeStatus.NOT_RUNNING:
                    raise
                self._stopped[index] = DeviceStatus(refused.detail)
            else:
                count, self._pid = end.welcome.device_count, end.peer.pid
                self._sessions[index] = Session(end)
            index += 1


def explain(error: LinkError, path: Path) -> CommandError:
    """Return what a command says when an emulator cannot be looked at."""
    if nobody_listens(error):
        return NoEmulator(
            f"no emulator listens at {path}; start one with `emuzero serve`,"
            " or name its socket with --socket or EMUZERO_SOCKET"
        )
    return CommandError(f"the emulator at {path} cannot be looked at: {error}")


@contextmanager
def _patience(session: Session) -> Generator[None]:
    """Hang up on a device that does not answer in time.

    Raises:
        CommandError: it did not.
    """
    text = f"device {session.facts.superblock.device_index} did not answer"
    late = threading.Event()

    def hang_up() -> None:
        late.set()
        session.hang_up(text)

    timer = threading.Timer(PATIENCE_SECONDS, hang_up)
    timer.start()
    try:
        yield
    except ZeError as error:
        if not late.is_set():
            raise
        raise CommandError(f"{text} within {PATIENCE_SECONDS:g} s") from error
    finally:
        timer.cancel()
        timer.join()


def _read_device(index: int, session: Session) -> DeviceReport:
    devices = _ask(session, Subject.DEVICE, DeviceStatistics)
    if len(devices) != 1 or not devices[0].vram_size:
        raise CommandError(
            f"device {index} tells of {len(devices)} devices, expected one with memory"
        )
    (device,) = devices
    return DeviceReport(
        index=index,
        status=device.status,
        device=device,
        clients=_ask(session, Subject.CLIENT, ClientStatistics),
        spaces=_ask(session, Subject.SPACE, SpaceStatistics),
        queues=_ask(session, Subject.QUEUE, QueueStatistics),
    )


def _ask(session: Session, subject: Subject, record: type[RecordT]) -> tuple[RecordT, ...]:
    """Return the records of one subject: all of them, or as many as a payload holds.

    Raises:
        ZeError: the device is lost.
        CommandError: it refuses, or answers with something else.
    """
    room = FIRST_RECORDS * record.SIZE
    while True:
        command = GetStatistics(request=0, subject=subject, payload_offset=0, payload_size=room)
        answer = session.collect(command, session.post(command, room=room))
        reply = answer.reply
        if not isinstance(reply, Statistics) or reply.record_size != record.SIZE:
            raise CommandError(f"the device answered {reply} when asked for {subject.name}")
        largest = session.facts.superblock.payload_size // record.SIZE * record.SIZE
        if reply.count == reply.total or room >= largest:
            return tuple(_records(record, answer.payload, reply.count))
        wanted = min(largest, reply.total * record.SIZE)
        if wanted <= room:
            raise CommandError(
                f"the device gave {reply.count} of {reply.total} records of {subject.name}, with"
                f" room for {room // record.SIZE}"
            )
        room = wanted


def _records(record: type[RecordT], payload: bytes, count: int) -> list[RecordT]:
    found: list[RecordT] = []
    for number in range(count):
        item = record.unpack(payload, number * record.SIZE)
        if not isinstance(item, record):
            raise CommandError(f"statistics record {number} is {item}")
        found.append(item)
    return found
