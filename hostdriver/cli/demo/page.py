"""A page on a console: chapters, calls with their commands, lines that wrap or that stay whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from hostdriver.cli.demo.panels import COLORS

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from hostdriver.cli.demo.events import Call, Command

MOST_SHOWN: Final = 4
"""Commands of one call that are shown."""
INDENT: Final = 2
DEEPER: Final = 6
HANGING: Final = 4
"""Further columns of a line that goes on."""
MOST_NARROW: Final = 20
RULE_COLUMNS: Final = 4
"""Least columns that a heading leaves to its rule."""


class Page:
    """Writes to a console, chapter by chapter.

    Owner: who tells the story.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._chapters = 0

    def chapter(self, title: str) -> None:
        """Begin a chapter."""
        self._chapters += 1
        self.console.print()
        heading = Text(f"{self._chapters}. {title}", style="bold")
        if len(heading) > self.console.width - RULE_COLUMNS:
            self.show(heading, indent=0)  # a rule would cut it
        else:
            self.console.print(Rule(heading, align="left", style="dim"))

    def call(self, who: str, call: Call) -> None:
        """Show a call, its result, and what it put on the rings."""
        arguments = ", ".join(f"{name}={value}" for name, value in call.arguments.items())
        failed = call.result.startswith("ZE_RESULT_ERROR")
        self.show(
            Text.assemble(
                (f"{who} ", COLORS.get(who, "")),
                (call.function, "bold"),
                f"({arguments}) = ",
                (call.result.removeprefix("ZE_RESULT_"), "red" if failed else ""),
            )
        )
        for command in call.commands[:MOST_SHOWN]:
            self._command(command)
        hidden = len(call.commands[MOST_SHOWN:]) + call.more_commands
        if hidden:
            self.show(Text(f"... and {hidden} more commands", style="dim"), DEEPER)

    def _command(self, command: Command) -> None:
        self.show(Text(f"> {command.ring}: {command.text}", style="dim"), DEEPER)
        if command.reply:
            self.show(Text(f"< {command.reply}", style="dim"), DEEPER)

    def say(self, who: str, text: str) -> None:
        """Show a sentence that begins with a process."""
        self.show(Text.assemble((f"{who} ", COLORS.get(who, "")), text))

    def show(self, what: RenderableType, indent: int = INDENT) -> None:
        """Show something; texts wrap."""
        if not isinstance(what, Text):
            self.console.print(Padding(what, (0, 0, 0, indent), expand=False))
            return
        room = max(MOST_NARROW, self.console.width - indent - HANGING)
        for number, line in enumerate(what.wrap(self.console, room)):
            line.rstrip()
            line.pad_left(indent + (HANGING if number else 0))
            self.console.print(line, soft_wrap=True)

    def line(self, text: str, style: str = "", indent: int = INDENT) -> None:
        """Show a line that is never broken or cut, so that it can be copied and searched."""
        self.console.print(Text(" " * indent + text, style=style), soft_wrap=True)
