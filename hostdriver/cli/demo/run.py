"""The run of the demo: what is passed to whom, and what is proved.

Three processes: a device, an exporter, an importer. From the exporter to the importer go
the 64 bytes of a handle, and nothing else.
"""

from __future__ import annotations

import select
import sys
from typing import TYPE_CHECKING, Final, TypeVar, final

import msgspec

from hostdriver.cli.demo.children import ChildFailed
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
from hostdriver.cli.demo.processes import (
    LOOK_SECONDS,
    PATIENCE_SECONDS,
    measure,
    measure_end,
    processes,
)
from hostdriver.cli.demo.verdict import Verdict
from hostdriver.cli.observer import Observer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hostdriver.cli.demo.audience import Audience
    from hostdriver.cli.demo.events import Event, Order
    from hostdriver.cli.demo.processes import Processes

SLOWEST_BYTES_A_SECOND: Final = 20 << 20

EventT = TypeVar("EventT", bound="Event")


def run(
    paths: Sequence[Path],
    *,
    vram_size: int | None,
    audience: Audience,
    keep: bool,
    attached: Path | None = None,
) -> Verdict:
    """Run the demo; whatever happens, no process and no file is left.

    Args:
        paths: files to share; they can be read.
        vram_size: memory of a private device; None for its usual size.
        audience: who is told.
        keep: stop before everything is given back, until Enter.
        attached: socket of an emulator that runs already; None: a private device.

    Raises:
        ChildFailed: a process failed; so does the run.
        BadInput: the files do not fit.
        NoEmulator: nobody listens at `attached`.
        CommandError: the device does not run, or is gone.
    """
    with processes(vram_size, attached) as running:
        verdict = Stage(running, audience).play(paths, keep=keep)
    audience.ended(verdict)
    return verdict


@final
class Stage:
    """The play of one run.

    Owner: `run`.
    """

    def __init__(self, running: Processes, audience: Audience) -> None:
        """Start both clients: the importer too, so that it is ready when the handle comes."""
        self._running = running
        self._audience = audience
        self._patience = PATIENCE_SECONDS
        self._device = running.device
        socket = str(running.socket)
        self._exporter = running.start("exporter", ["hostdriver.cli.demo.exporter", socket])
        self._importer = running.start("importer", ["hostdriver.cli.demo.importer", socket])
        self._clients = {"exporter": self._exporter, "importer": self._importer}

    def play(self, paths: Sequence[Path], *, keep: bool) -> Verdict:
        """Play the whole story and return what it proved."""
        ready = self._running.ready()
        total = check_fit(paths, ready.devices[0].vram_size)
        self._patience += total / SLOWEST_BYTES_A_SECOND
        # As long as somebody looks at it, the device does not leave.
        with Observer(self._running.socket, name="demo") as observer:
            clients = {child.name: child.pid for child in self._clients.values()}
            self._audience.began(ready.socket, {"device": observer.read().pid, **clients})
            self._measure("before", observer)
            loaded, handle = self._export(paths)
            verified, replied = self._import(handle)
            self._order(ReadReply())
            seen = self._hear("exporter", ReplySeen)
            self._measure("shared", observer)
            if keep:
                self._wait_for_enter(ready.socket)
            received = self._give_back()
            after = measure_end(observer, self._running.before)
            self._audience.measured("after", after)
            # Before the observer leaves, so that the device does not leave with it.
            self._running.leave_device(self._patience)
        return Verdict(
            loaded=loaded.files,
            verified=verified,
            replied=replied.text,
            seen=seen,
            received=received,
            after=after,
            before=self._running.before,
        )

    def _export(self, paths: Sequence[Path]) -> tuple[Loaded, bytes]:
        """Have the exporter load the files; return their hashes and the handle."""
        self._order(Load([bytes(path) for path in paths]))
        loaded = self._hear("exporter", Loaded)
        return loaded, self._hear("exporter", Exported).handle

    def _import(self, handle: bytes) -> tuple[Verified, Replied]:
        """Hand the importer the handle; return what it found and what it wrote."""
        self._audience.handed(handle)
        self._importer.tell(handle, self._patience, self._device)
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

    def _order(self, order: Order) -> None:
        self._exporter.tell(encode(order), self._patience, self._device)

    def _hear(self, who: str, wanted: type[EventT]) -> EventT:
        """Pass on what a client tells, up to and with an event of one kind.

        Raises:
            ChildFailed: it or the device failed, or it tells nonsense.
        """
        child = self._clients[who]
        while True:
            line = child.hear(self._patience, self._device)
            try:
                event = decode_event(line)
            except msgspec.MsgspecError as error:
                raise ChildFailed(f"the {who} told {line!r:.80}: {error}") from error
            self._audience.told(who, event)
            if isinstance(event, wanted):
                return event

    def _measure(self, moment: str, observer: Observer) -> None:
        """Tell what the device counts now."""
        self._audience.measured(moment, measure(observer))

    def _wait_for_enter(self, socket: str) -> None:
        """Wait until a line or the end of standard input comes, while all processes live."""
        self._audience.paused(socket)
        if sys.stdin is None:  # closed by whoever started us
            return
        poll = select.poll()
        poll.register(sys.stdin, select.POLLIN)
        while not poll.poll(LOOK_SECONDS * 1000):
            for child in self._running.all:
                child.check()
        sys.stdin.readline()
