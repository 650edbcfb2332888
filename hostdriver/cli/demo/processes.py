"""A device and its clients: started, looked at, and ended on every path.

The device is a private process, or one of an emulator that runs already and stays as it is.
"""

from __future__ import annotations

import contextlib
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import msgspec

from hostdriver.cli.demo.children import Child, ChildFailed
from hostdriver.cli.demo.verdict import not_given_back
from hostdriver.cli.exits import BadInput, Exit
from hostdriver.cli.observer import Observer
from hostdriver.cli.signals import SIGNALS, ended_by_signals

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from firmware.abi.statistics import DeviceStatistics

PATIENCE_SECONDS: Final = 20.0
"""How long any step may take, besides the time that its bytes need."""
GONE_SECONDS: Final = 5.0
"""How long the device may take to notice that its clients have left."""
LOOK_SECONDS: Final = 0.005


class ReadyDevice(msgspec.Struct):
    """A device, as `emuzero serve --json` tells it."""

    vram_size: int


class Ready(msgspec.Struct):
    """What `emuzero serve --json` tells when it is ready, or what is known of another emulator."""

    socket: str
    devices: list[ReadyDevice]


@final
class Processes:
    """The processes of one run.

    Owner: `processes`, which ends them on every path.
    """

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        """Where the device listens, or will."""
        self.all: list[Child] = []
        """In the order in which they were started, a device of our own first."""
        self.device: tuple[Child, ...] = ()
        """The process of the device; none: it is not ours."""
        self.before: DeviceStatistics | None = None
        """What a device that is not ours held before; None: it is ours, and began with nothing."""

    def start_device(self, vram_size: int | None) -> None:
        """Start the device; `ready` waits until it listens."""
        memory = [] if vram_size is None else ["--vram", str(vram_size)]
        serve = ["hostdriver.cli", "serve", "--json", "--on-demand", "--socket", str(self.socket)]
        self.device = (self.start("device", [*serve, *memory]),)

    def attach(self) -> None:
        """Take the device that listens.

        Raises:
            NoEmulator: nobody listens.
            CommandError: its device does not run, or it refuses.
        """
        with Observer(self.socket, name="demo") as observer:
            self.before = measure(observer)

    def leave_device(self, patience_seconds: float) -> None:
        """End the device and wait until it has ended, if it is ours.

        Raises:
            ChildFailed: it failed, or goes on.
        """
        for device in self.device:
            device.ask_to_end()
            device.finish(patience_seconds)

    def start(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> Child:
        """Start `python -m` with these arguments, and with changes to the environment."""
        child = Child(name, ["-m", *arguments], environment or {})
        self.all.append(child)
        return child

    def ready(self) -> Ready:
        """Wait until the device listens.

        Raises:
            BadInput: no device has such a size.
            ChildFailed: it ended or says nothing.
        """
        if self.before is not None:
            return Ready(str(self.socket), [ReadyDevice(self.before.vram_size)])
        try:
            line = self.device[0].hear(PATIENCE_SECONDS)
        except ChildFailed as error:
            if error.code == Exit.USAGE:  # of what it was given only --vram can be wrong
                raise BadInput(error.words.removeprefix("Error: ")) from error
            raise
        try:
            return msgspec.json.decode(line, type=Ready)
        except msgspec.MsgspecError as error:
            raise ChildFailed(f"the device told {line!r:.80}: {error}") from error

    def end_all(self) -> None:
        """End every process; nothing interrupts that, and it takes seconds at most."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        for child in reversed(self.all):
            child.ask_to_end()
        for child in reversed(self.all):
            child.end()


@contextlib.contextmanager
def processes(vram_size: int | None, attached: Path | None = None) -> Generator[Processes]:
    """Have a device in the block; whatever ends it, no process and no file is left.

    Args:
        vram_size: memory of a private device; None for its usual size.
        attached: socket of an emulator whose first device is taken; None: a private one is started.

    Raises:
        NoEmulator: nobody listens at `attached`.
        CommandError: its device does not run, or it refuses.
    """
    with (
        tempfile.TemporaryDirectory(prefix="emuzero-demo-") as folder,
        ended_by_signals(),
        contextlib.ExitStack() as undo,
    ):
        running = Processes(attached or Path(folder) / "socket")
        undo.callback(running.end_all)
        if attached is None:
            running.start_device(vram_size)
        else:
            running.attach()
        yield running


def measure(observer: Observer) -> DeviceStatistics:
    """Return what the device counts now.

    Raises:
        CommandError: it does not run, or is gone.
    """
    device = observer.read().devices[0].device
    if device is None:
        raise ChildFailed("the device does not run")
    return device


def measure_end(observer: Observer, before: DeviceStatistics | None) -> DeviceStatistics:
    """Return what the device counts when it holds no more than before, or time is up.

    Raises:
        CommandError: it does not run, or is gone.
    """
    deadline = time.monotonic() + GONE_SECONDS
    while True:
        device = measure(observer)
        if not not_given_back(device, before) or time.monotonic() > deadline:
            return device
        time.sleep(LOOK_SECONDS)
