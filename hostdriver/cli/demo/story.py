"""The story on a screen: what happens at each level, in the order in which it happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from rich.padding import Padding
from rich.rule import Rule
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
from hostdriver.cli.demo.panels import (
    COLORS,
    handle_table,
    range_picture,
    statistics_table,
    tables_side_by_side,
)
from hostdriver.cli.demo.trace import hexadecimal
from hostdriver.cli.sizes import counted, format_size

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from firmware.abi.statistics import DeviceStatistics
    from hostdriver.cli.demo.events import Command, Event, FileHash
    from hostdriver.cli.demo.verdict import Verdict

MOST_SHOWN: Final = 4
"""Commands of one call that are shown."""
INDENT: Final = 2
DEEPER: Final = 6
HANGING: Final = 4
"""Further columns of a line that goes on."""
MOST_NARROW: Final = 20
RULE_COLUMNS: Final = 4
"""Least columns that a heading leaves to its rule."""
MOMENTS: Final = {"before": "before", "shared": "while shared", "after": "after"}


@final
class Story:
    """Shows a run on a console as it goes on (see `Audience`).

    Owner: the command.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tables: dict[str, Tables] = {}
        self._moments: dict[str, DeviceStatistics] = {}
        self._chapters = 0

    def began(self, socket: str, processes: dict[str, int]) -> None:
        """Show who takes part."""
        self._console.print(Text("Two processes share GPU memory through 64 bytes", style="bold"))
        for name, pid in processes.items():
            self._show(Text.assemble((f"{name:<9}", COLORS[name]), f" process {pid}"))
        self._show(Text(f"The device listens at {socket}."))
        self._show(
            Text(
                "Below each call stand the binary commands that it put on a ring (>) and the"
                " device's replies (<)."
            )
        )
        self._chapter("The exporter maps three objects side by side")

    def told(self, who: str, event: Event) -> None:  # noqa: C901, PLR0912 - one case an event
        """Show what a process told."""
        match event:
            case Attached():
                memory = format_size(event.vram_size)
                self._say(who, f"is attached to {event.device} with {memory}")
            case Call():
                self._call(who, event)
            case Built():
                for line in range_picture(event, self._console.width - INDENT):
                    self._show(line)
                self._chapter("It loads the files through the copy engine")
            case Loaded():
                places = [f", in {' and '.join(letters)}" for letters in event.objects]
                self._hashes(event.files, places, "read from the file system")
            case Tables():
                self._tables[who] = event
            case Exported():
                self._show(handle_table(event.handle))
            case Opened():
                self._say(
                    who,
                    f"was given {event.received} bytes and sees {event.size:,} at"
                    f" {hexadecimal(event.va)}",
                )
            case Verified():
                self._verified(event)
            case Replied():
                self._line(f"{who} wrote: {event.text}", COLORS[who])
            case ReplySeen():
                self._line(f"{who} reads: {event.text}", COLORS[who])
            case Finished():
                self._say(who, "has given everything back")
        if who == "importer" and isinstance(event, Tables):
            self._both_tables()
        if isinstance(event, Tables) and who == "exporter":
            self._chapter("It exports the window: 64 bytes are all that anybody needs")

    def handed(self, handle: bytes) -> None:
        """Show that the importer is given the handle."""
        self._chapter(f"The importer is given these {len(handle)} bytes, and opens them")

    def measured(self, moment: str, device: DeviceStatistics) -> None:
        """Keep what the device counts, and show it in the end."""
        self._moments[MOMENTS[moment]] = device
        if moment == "shared":
            self._chapter("Everything is given back")
        if moment == "after":
            self._show(statistics_table(self._moments))

    def paused(self, socket: str) -> None:
        """Say what can be looked at now."""
        self._show(Text("Everything stays as it is until Enter is pressed. Look at it with:"))
        self._line(f"emuzero status --socket {socket}", "bold")

    def ended(self, verdict: Verdict) -> None:
        """Show what was proved."""
        self._console.print()
        if verdict.problem:
            self._line(f"Not proved: {verdict.problem}", "bold red", indent=0)
            return
        files = verdict.verified.files
        size = sum(file.size for file in files)
        self._show(
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
        self._show(Text("Both page tables lead to the same memory:"))
        sides = (self._tables["exporter"], self._tables["importer"])
        for part in tables_side_by_side(*sides, self._console.width - INDENT):
            self._show(part)
        self._chapter("It reads everything back through its own page table")

    def _verified(self, event: Verified) -> None:
        self._hashes(event.files, [""] * len(event.files), "read by the importer")
        if event.all_equal:
            self._show(Text("Each is what the manifest in the window says.", style="green"))
        else:
            for file, expected in zip(event.files, event.expected, strict=True):
                if file.sha256 != expected:
                    self._line(f"{file.name}: the manifest says {expected}", "red")
        self._chapter("A reply goes back through the same memory")

    def _chapter(self, title: str) -> None:
        self._chapters += 1
        self._console.print()
        heading = Text(f"{self._chapters}. {title}", style="bold")
        if len(heading) > self._console.width - RULE_COLUMNS:
            self._show(heading, indent=0)  # a rule would cut it
        else:
            self._console.print(Rule(heading, align="left", style="dim"))

    def _call(self, who: str, call: Call) -> None:
        arguments = ", ".join(f"{name}={value}" for name, value in call.arguments.items())
        failed = call.result.startswith("ZE_RESULT_ERROR")
        self._show(
            Text.assemble(
                (f"{who} ", COLORS[who]),
                (call.function, "bold"),
                f"({arguments}) = ",
                (call.result.removeprefix("ZE_RESULT_"), "red" if failed else ""),
            )
        )
        for command in call.commands[:MOST_SHOWN]:
            self._command(command)
        hidden = len(call.commands[MOST_SHOWN:]) + call.more_commands
        if hidden:
            self._show(Text(f"... and {hidden} more commands", style="dim"), DEEPER)

    def _command(self, command: Command) -> None:
        self._show(Text(f"> {command.ring}: {command.text}", style="dim"), DEEPER)
        if command.reply:
            self._show(Text(f"< {command.reply}", style="dim"), DEEPER)

    def _hashes(self, files: list[FileHash], places: list[str], what: str) -> None:
        self._show(Text(f"SHA-256, {what}:"))
        for file, place in zip(files, places, strict=True):
            self._line(f"{file.sha256}  {file.name} ({counted(file.size, 'byte')}{place})")

    def _say(self, who: str, text: str) -> None:
        self._show(Text.assemble((f"{who} ", COLORS[who]), text))

    def _show(self, what: RenderableType, indent: int = INDENT) -> None:
        if not isinstance(what, Text):
            self._console.print(Padding(what, (0, 0, 0, indent), expand=False))
            return
        room = max(MOST_NARROW, self._console.width - indent - HANGING)
        for number, line in enumerate(what.wrap(self._console, room)):
            line.rstrip()
            line.pad_left(indent + (HANGING if number else 0))
            self._console.print(line, soft_wrap=True)

    def _line(self, text: str, style: str = "", indent: int = INDENT) -> None:
        """Show a line that is never broken or cut, so that it can be copied and searched."""
        self._console.print(Text(" " * indent + text, style=style), soft_wrap=True)
