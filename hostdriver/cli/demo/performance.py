"""The run of one example on a device: what it does is told, and what it leaves behind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Protocol, final

import msgspec
from rich.text import Text

from hostdriver.cli.demo.children import ChildFailed
from hostdriver.cli.demo.events import Call, Said, decode_told
from hostdriver.cli.demo.page import Page
from hostdriver.cli.demo.processes import PATIENCE_SECONDS, measure_end, processes
from hostdriver.cli.demo.verdict import not_given_back
from hostdriver.cli.observer import Observer
from hostdriver.cli.sizes import format_size

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from firmware.abi.statistics import DeviceStatistics
    from hostdriver.cli.demo.extensions import Entry

SCHEMA: Final = 1


class Viewer(Protocol):
    """Learns what an example does, in the order in which it happens."""

    def began(self, entry: Entry, socket: str) -> None:
        """Learn that the device runs."""
        ...

    def called(self, who: str, call: Call) -> None:
        """Learn of a call."""
        ...

    def said(self, text: str) -> None:
        """Learn of a line that the example printed."""
        ...

    def ended(self, problem: str, after: DeviceStatistics) -> None:
        """Learn how it ended: the first thing that is wrong, or nothing."""
        ...


def perform(
    entry: Entry, viewer: Viewer, *, vram_size: int | None, attached: Path | None = None
) -> str:
    """Run an example; return what it left behind, which is nothing if all is well.

    Args:
        entry: the example.
        viewer: who is told.
        vram_size: memory of a private device; None for its usual size.
        attached: socket of an emulator that runs already; None: a private device.

    Raises:
        ChildFailed: a check of the example failed, or the device.
        BadInput: no device has such a size.
        NoEmulator: nobody listens at `attached`.
    """
    with processes(vram_size, attached) as running:
        socket = running.ready().socket
        # As long as somebody looks at it, the device does not leave.
        with Observer(running.socket, name="demo") as observer:
            viewer.began(entry, socket)
            # Checks are assertions, whatever the environment says of those.
            changes = {"EMUZERO_SOCKET": socket, "PYTHONOPTIMIZE": ""}
            module = "hostdriver.cli.demo.watched"
            example = running.start("example", [module, str(entry.file)], changes)
            for line in example.lines(PATIENCE_SECONDS, running.device):
                _pass_on(line, viewer)
            example.finish(PATIENCE_SECONDS)
            after = measure_end(observer, running.before)
            running.leave_device(PATIENCE_SECONDS)
        before = running.before
    problem = not_given_back(after, before)
    viewer.ended(problem, after)
    return problem


def _pass_on(line: bytes, viewer: Viewer) -> None:
    try:
        told = decode_told(line)
    except msgspec.MsgspecError as error:
        raise ChildFailed(f"the example told {line!r:.80}: {error}") from error
    if isinstance(told.what, Said):
        viewer.said(told.what.text)
    else:
        viewer.called(told.who, told.what)


@final
class Screen:
    """Shows an example on a console as it goes on (see `Viewer`)."""

    def __init__(self, console: Console) -> None:
        self._page = Page(console)

    def began(self, entry: Entry, socket: str) -> None:
        """Show what is shown, and where it can be read."""
        self._page.show(Text(entry.summary, style="bold"), indent=0)
        self._page.show(Text(entry.extension))
        self._page.line(f"The program: {entry.file}")
        self._page.show(Text(f"The device listens at {socket}."))
        self._page.show(
            Text(
                "Below each call stand the binary commands that it put on a ring (>) and the"
                " device's replies (<)."
            )
        )

    def called(self, who: str, call: Call) -> None:
        """Show a call."""
        self._page.call(who, call)

    def said(self, text: str) -> None:
        """Show a line of the example, which says what comes now or what was found."""
        self._page.console.print()
        self._page.show(Text(text, style="bold"), indent=0)

    def ended(self, problem: str, after: DeviceStatistics) -> None:
        """Show how it ended."""
        self._page.console.print()
        if problem:
            self._page.line(f"Not given back: {problem}", "bold red", indent=0)
            return
        words = (
            "Proved: every check of the program held, and all"
            f" {format_size(after.vram_size)} of device memory are free again."
        )
        self._page.show(Text(words, style="bold green"), indent=0)


@final
class Record:
    """Keeps what an example does (see `Viewer`); docs/demo.md describes every key."""

    def __init__(self) -> None:
        self._calls: list[object] = []
        self._lines: list[str] = []
        self.value: dict[str, object] = {
            "schema": SCHEMA,
            "proved": False,
            "problem": "",
            "lines": self._lines,
            "calls": self._calls,
        }

    def began(self, entry: Entry, socket: str) -> None:
        """Keep what is shown."""
        self.value |= {
            "extension": entry.extension,
            "file": str(entry.file),
            "socket": socket,
        }

    def called(self, who: str, call: Call) -> None:
        """Keep a call."""
        fields: dict[str, object] = msgspec.to_builtins(call)
        del fields["type"]
        self._calls.append({"process": who, "line": len(self._lines), **fields})

    def said(self, text: str) -> None:
        """Keep a line."""
        self._lines.append(text)

    def ended(self, problem: str, after: DeviceStatistics) -> None:  # noqa: ARG002 - `Viewer`
        """Keep how it ended."""
        self.value["problem"] = problem
        self.value["proved"] = not problem

    def text(self) -> str:
        """Return the document."""
        return json.dumps(self.value, indent=2)
