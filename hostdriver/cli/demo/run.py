"""The run of the demo: who is started when, what is passed to whom, what is proved.

Three processes: a private device, an exporter, an importer. From the exporter to the importer go
the 64 bytes of a handle, and nothing else.
"""

from __future__ import annotations

import contextlib
import select
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, final

import msgspec

from hostdriver.cli.demo.children import Child, ChildFailed
from hostdriver.cli.demo.events import (
    Exported,
    Finish,
    Finished,
    Load,
    Loaded,
    ReadReply,
    Replied,
    ReplySeen,
    Verified,
    decode_event,
    encode,
)
from hostdriver.cli.demo.fit import check_fit
from hostdriver.cli.demo.verdict import Verdict
from hostdriver.cli.exits import BadInput, Exit
from hostdriver.cli.observer import Observer

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from types import FrameType

    from firmware.abi.statistics import DeviceStatistics
    from hostdriver.cli.demo.audience import Audience
    from hostdriver.cli.demo.events import Event, Order

PATIENCE_SECONDS: Final = 20.0
"""How long any step may take, besides the time that its bytes need."""
SLOWEST_BYTES_A_SECOND: Final = 20 << 20
GONE_SECONDS: Final = 5.0
"""How long the device may take to notice that both clients have left."""
LOOK_SECONDS: Final = 0.005
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

EventT = TypeVar("EventT", bound="Event")


class ReadyDevice(msgspec.Struct):
    """A device, as `emuzero serve --json` tells it."""

    vram_size: int


class Ready(msgspec.Struct):
    """What `emuzero serve --json` tells when it is ready."""

    socket: str
    devices: list[ReadyDevice]


def run(paths: Sequence[Path], *, vram_size: int | None, audience: Audience, keep: bool) -> Verdict:
    """Run the demo; whatever happens, no process and no file is left.

    Args:
        paths: files to share; they can be read.
        vram_size: memory of the device; None for its usual size.
        audience: who is told.
        keep: stop before everything is given back, until Enter.

    Raises:
        ChildFailed: a process failed; so does the run.
        BadInput: the files do not fit.
    """
    with contextlib.ExitStack() as undo:
        folder = undo.enter_context(tempfile.TemporaryDirectory(prefix="emuzero-demo-"))
        undo.enter_context(_ended_by_signals())
        stage = Stage(Path(folder) / "socket", audience, undo, vram_size)
        verdict = stage.play(paths, keep=keep)
    audience.ended(verdict)
    return verdict


@final
class Stage:
    """The processes of one run.

    Owner: `run`, whose exit stack ends the processes on every path.
    """

    def __init__(
        self,
        socket: Path,
        audience: Audience,
        undo: contextlib.ExitStack,
        vram_size: int | None,
    ) -> None:
        """Start all three: the importer too, so that it is ready when the handle comes."""
        self._socket = socket
        self._audience = audience
        self._patience = PATIENCE_SECONDS
        self._children: list[Child] = []
        undo.callback(self._end_all)
        memory = [] if vram_size is None else ["--vram", str(vram_size)]
        serve = ["hostdriver.cli", "serve", "--json", "--on-demand", "--socket", str(socket)]
        self._device = self._start("device", [*serve, *memory])
        self._exporter = self._start("exporter", ["hostdriver.cli.demo.exporter", str(socket)])
        self._importer = self._start("importer", ["hostdriver.cli.demo.importer", str(socket)])
        self._clients = {"exporter": self._exporter, "importer": self._importer}

    def play(self, paths: Sequence[Path], *, keep: bool) -> Verdict:
        """Play the whole story and return what it proved."""
        ready = self._ready()
        total = check_fit(paths, ready.devices[0].vram_size)
        self._patience += total / SLOWEST_BYTES_A_SECOND
        # As long as somebody looks at it, the device does not leave.
        with Observer(self._socket, name="demo") as observer:
            self._audience.began(ready.socket, {child.name: child.pid for child in self._children})
            self._measure("before", observer)
            loaded, handle = self._export(paths)
            verified, replied = self._import(handle)
            self._order(ReadReply())
            seen = self._hear("exporter", ReplySeen)
            self._measure("shared", observer)
            if keep:
                self._wait_for_enter(ready.socket)
            received = self._give_back()
            after = self._measure("after", observer, empty=True)
            # Before the observer leaves, so that the device does not leave with it.
            self._device.ask_to_end()
            self._device.finish(self._patience)
        return Verdict(
            loaded=loaded.files,
            verified=verified,
            replied=replied.text,
            seen=seen,
            received=received,
            after=after,
        )

    def _ready(self) -> Ready:
        """Wait until the device listens."""
        try:
            line = self._device.hear(self._patience)
        except ChildFailed as error:
            if error.code == Exit.USAGE:  # of what it was given only --vram can be wrong
                raise BadInput(error.words.removeprefix("Error: ")) from error
            raise
        try:
            return msgspec.json.decode(line, type=Ready)
        except msgspec.MsgspecError as error:
            raise ChildFailed(f"the device told {line!r:.80}: {error}") from error

    def _export(self, paths: Sequence[Path]) -> tuple[Loaded, bytes]:
        """Have the exporter load the files; return their hashes and the handle."""
        self._order(Load([bytes(path) for path in paths]))
        loaded = self._hear("exporter", Loaded)
        return loaded, self._hear("exporter", Exported).handle

    def _import(self, handle: bytes) -> tuple[Verified, Replied]:
        """Hand the importer the handle; return what it found and what it wrote."""
        self._audience.handed(handle)
        self._importer.tell(handle, self._patience, [self._device])
        verified = self._hear("importer", Verified)
        return verified, self._hear("importer", Replied)

    def _give_back(self) -> int:
        """Have both close everything and leave; return how many bytes the importer was given."""
        self._importer.end_input()
        received = self._hear("importer", Finished).received
        self._order(Finish())
        self._hear("exporter", Finished)
        for client in self._clients.values():
            client.finish(self._patience)
        return received

    def _end_all(self) -> None:
        """End every process; nothing interrupts that, and it takes seconds at most."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        for child in reversed(self._children):
            child.ask_to_end()
        for child in reversed(self._children):
            child.end()

    def _start(self, name: str, arguments: Sequence[str]) -> Child:
        child = Child(name, ["-m", *arguments])
        self._children.append(child)
        return child

    def _order(self, order: Order) -> None:
        self._exporter.tell(encode(order), self._patience, [self._device])

    def _hear(self, who: str, wanted: type[EventT]) -> EventT:
        """Pass on what a client tells, up to and with an event of one kind.

        Raises:
            ChildFailed: it or the device failed, or it tells nonsense.
        """
        child = self._clients[who]
        while True:
            line = child.hear(self._patience, [self._device])
            try:
                event = decode_event(line)
            except msgspec.MsgspecError as error:
                raise ChildFailed(f"the {who} told {line!r:.80}: {error}") from error
            self._audience.told(who, event)
            if isinstance(event, wanted):
                return event

    def _measure(self, moment: str, observer: Observer, *, empty: bool = False) -> DeviceStatistics:
        """Return what the device counts now, or when it has become empty."""
        deadline = time.monotonic() + GONE_SECONDS
        while True:
            device = observer.read().devices[0].device
            if device is None:
                raise ChildFailed("the device does not run")
            in_use = device.vram_size - device.retired_bytes - device.free_bytes
            if not empty or not (device.client_count or in_use) or time.monotonic() > deadline:
                break
            time.sleep(LOOK_SECONDS)
        self._audience.measured(moment, device)
        return device

    def _wait_for_enter(self, socket: str) -> None:
        """Wait until a line or the end of standard input comes, while all processes live."""
        self._audience.paused(socket)
        if sys.stdin is None:  # closed by whoever started us
            return
        poll = select.poll()
        poll.register(sys.stdin, select.POLLIN)
        while not poll.poll(LOOK_SECONDS * 1000):
            for child in self._children:
                child.check()
        sys.stdin.readline()


@contextlib.contextmanager
def _ended_by_signals() -> Generator[None]:
    """Have SIGTERM and SIGHUP unwind the stack as Ctrl-C does; give the handlers back."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGHUP, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
