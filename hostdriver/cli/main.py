"""The command `emuzero`: its groups and options, and how every command ends.

The modules of the commands are imported when they are called: `emuzero status` does not wait for
the emulator's libraries, nor does completion in a shell.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, final

import click
from click.shell_completion import CompletionItem

from hostdriver.cli.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

EPILOG: Final = """\b
Examples:
  emuzero run -- ./program          run a Level Zero program, without a GPU
  emuzero trace -- ./program        see what it calls
  emuzero demo                      see what the parts do, from calls to page tables
  emuzero demo --extension range    see one extension, by a program to copy
  emuzero doctor                    check what they need
  emuzero faults list               see where faults can be injected
  emuzero serve --vram 2GiB &       run an emulator
  emuzero status --watch            look at it
  emuzero status --json | jq .      the same for programs

\b
Exit codes:
  0  done                           3    no emulator listens
  1  failed, the message says why   130  ended by Ctrl-C
  2  wrong command line or file     4    not as a scenario expects

Environment: EMUZERO_SOCKET names the emulator's socket, NO_COLOR turns colours off."""


class Entry(NamedTuple):
    """A command and where it is."""

    module: str
    """Module with the click command as its attribute `command`."""
    summary: str


COMMANDS: Final = {
    "demo": Entry(
        "hostdriver.cli.demo.command", "Two processes share GPU memory, step by step on screen."
    ),
    "run": Entry("hostdriver.cli.run", "Run a Level Zero program on an emulator of its own."),
    "trace": Entry("hostdriver.cli.trace.command", "Show what a program calls, a line each."),
    "sweep": Entry(
        "hostdriver.cli.sweep.command", "Let each thing that can fail do so, in a run of its own."
    ),
    "env": Entry("hostdriver.cli.environment", "Print how programs find the driver."),
    "serve": Entry("hostdriver.cli.serve", "Run an emulator until it is told to end."),
    "status": Entry("hostdriver.cli.status.command", "Show what an emulator is doing."),
    "faults": Entry(
        "hostdriver.cli.faults.command", "Show where faults can be injected; change rules, live."
    ),
    "doctor": Entry("hostdriver.cli.doctor.command", "Check what programs need, say what to do."),
    "completion": Entry("hostdriver.cli.completion", "Print completion for a shell."),
}


@final
class Commands(click.Group):
    """The commands, imported one by one as they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: object = importlib.import_module(entry.module).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.module}.command is {command!r}, expected a click command")
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete names of commands without importing them, else options."""
        found = [
            CompletionItem(name, help=entry.summary)
            for name, entry in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found or click.Command.shell_complete(self, ctx, incomplete)


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="emuzero", message="%(prog)s %(version)s")
@click.option("--no-color", is_flag=True, help="Write without colours.")
@click.pass_context
def emuzero(ctx: click.Context, *, no_color: bool) -> None:
    """Run emulated GPUs for Level Zero programs, and look at them."""
    if no_color:
        ctx.color = False


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows another in its place.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; messages went to standard error."""
    try:
        result: object = emuzero.main(arguments, prog_name="emuzero", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return Exit.FAILED
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        # What is left of the output cannot be written at the end either.
        _drop_output()
        click.echo(f"Error: the output cannot be written: {error.strerror}", err=True)
        return Exit.FAILED
    return result if isinstance(result, int) else Exit.OK


def _drop_output() -> None:
    """Let what is still buffered go nowhere: whoever read it has left."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
