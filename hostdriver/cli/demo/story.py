"""The story on a screen: what happens at each level, in the order in which it happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from rich.text import Text

from hostdriver.cli.demo.events import (
    Attached,
    Built,
    Call,
    Exported,
    Finished,
    Loaded,
    Opened,
    Replied,
    ReplySeen,
    Tables,
    Verified,
)
from hostdriver.cli.demo.page import INDENT, Page
from hostdriver.cli.demo.panels import (
    COLORS,
    handle_table,
    range_picture,
    statistics_table,
    tables_side_by_side,
)
from hostdriver.cli.records import hexadecimal
from hostdriver.cli.sizes import counted, format_size

if TYPE_CHECKING:
    from rich.console import Console

    from firmware.abi.statistics import DeviceStatistics
    from hostdriver.cli.demo.events import Event, FileHash
    from hostdriver.cli.demo.verdict import Verdict

MOMENTS: Final = {"before": "before", "shared": "while shared", "after": "after"}


@final
class Story:
    """Shows a run on a console as it goes on (see `Audience`).

    Owner: the command.
    """

    def __init__(self, console: Console) -> None:
        self._page = Page(console)
        self._tables: dict[str, Tables] = {}
        self._moments: dict[str, DeviceStatistics] = {}

    def began(self, socket: str, processes: dict[str, int]) -> None:
        """Show who takes part."""
        self._page.console.print(
            Text("Two processes share GPU memory through 64 bytes", style="bold")
        )
        for name, pid in processes.items():
            self._page.show(Text.assemble((f"{name:<9}", COLORS[name]), f" process {pid}"))
        self._page.show(Text(f"The device listens at {socket}."))
        self._page.show(
            Text(
                "Below each call stand the binary commands that it put on a ring (>) and the"
                " device's replies (<)."
            )
        )
        self._page.chapter("The exporter maps three objects side by side")

    def told(self, who: str, event: Event) -> None:  # noqa: C901, PLR0912 - one case an event
        """Show what a process told."""
        match event:
            case Attached():
                memory = format_size(event.vram_size)
                self._page.say(who, f"is attached to {event.device} with {memory}")
            case Call():
                self._page.call(who, event)
            case Built():
                for line in range_picture(event, self._page.console.width - INDENT):
                    self._page.show(line)
                self._page.chapter("It loads the files through the copy engine")
            case Loaded():
                places = [f", in {' and '.join(letters)}" for letters in event.objects]
                self._hashes(event.files, places, "read from the file system")
            case Tables():
                self._tables[who] = event
            case Exported():
                self._page.show(handle_table(event.handle))
            case Opened():
                self._page.say(
                    who,
                    f"was given {event.received} bytes and sees {event.size:,} at"
                    f" {hexadecimal(event.va)}",
                )
            case Verified():
                self._verified(event)
            case Replied():
                self._page.line(f"{who} wrote: {event.text}", COLORS[who])
            case ReplySeen():
                self._page.line(f"{who} reads: {event.text}", COLORS[who])
            case Finished():
                self._page.say(who, "has given everything back")
        if who == "importer" and isinstance(event, Tables):
            self._both_tables()
        if isinstance(event, Tables) and who == "exporter":
            self._page.chapter("It exports the window: 64 bytes are all that anybody needs")

    def handed(self, handle: bytes) -> None:
        """Show that the importer is given the handle."""
        self._page.chapter(f"The importer is given these {len(handle)} bytes, and opens them")

    def measured(self, moment: str, device: DeviceStatistics) -> None:
        """Keep what the device counts, and show it in the end."""
        self._moments[MOMENTS[moment]] = device
        if moment == "shared":
            self._page.chapter("Everything is given back")
        if moment == "after":
            self._page.show(statistics_table(self._moments))

    def paused(self, socket: str) -> None:
        """Say what can be looked at now."""
        self._page.show(Text("Everything stays as it is until Enter is pressed. Look at it with:"))
        self._page.line(f"emuzero status --socket {socket}", "bold")

    def ended(self, verdict: Verdict) -> None:
        """Show what was proved."""
        self._page.console.print()
        if verdict.problem:
            self._page.line(f"Not proved: {verdict.problem}", "bold red", indent=0)
            return
        files = verdict.verified.files
        size = sum(file.size for file in files)
        self._page.show(
            Text(
                f"Proved: with nothing but 64 bytes the importer read {counted(len(files), 'file')}"
                f" ({counted(size, 'byte')}) through its own page table, every SHA-256 is equal,"
                " the exporter saw its reply, and all"
                f" {format_size(verdict.after.vram_size)} of device memory are free again.",
                style="bold green",
            ),
            indent=0,
        )

    def _both_tables(self) -> None:
        """Show both page tables, then begin to read."""
        self._page.show(Text("Both page tables lead to the same memory:"))
        sides = (self._tables["exporter"], self._tables["importer"])
        for part in tables_side_by_side(*sides, self._page.console.width - INDENT):
            self._page.show(part)
        self._page.chapter("It reads everything back through its own page table")

    def _verified(self, event: Verified) -> None:
        self._hashes(event.files, [""] * len(event.files), "read by the importer")
        if event.all_equal:
            self._page.show(Text("Each is what the manifest in the window says.", style="green"))
        else:
            for file, expected in zip(event.files, event.expected, strict=True):
                if file.sha256 != expected:
                    self._page.line(f"{file.name}: the manifest says {expected}", "red")
        self._page.chapter("A reply goes back through the same memory")

    def _hashes(self, files: list[FileHash], places: list[str], what: str) -> None:
        self._page.show(Text(f"SHA-256, {what}:"))
        for file, place in zip(files, places, strict=True):
            self._page.line(f"{file.sha256}  {file.name} ({counted(file.size, 'byte')}{place})")
