"""`emuzero demo`: usage, and what is told at its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.table import Table

from hostdriver.cli.console import make_console, say
from hostdriver.cli.demo.document import Document
from hostdriver.cli.demo.extensions import EXTENSION, EXTENSIONS
from hostdriver.cli.demo.inputs import check_files, default_files
from hostdriver.cli.demo.performance import Record, Screen, perform
from hostdriver.cli.demo.run import run
from hostdriver.cli.demo.story import Story
from hostdriver.cli.exits import BadInput, CommandError
from hostdriver.cli.sizes import SIZE
from hostdriver.runtime.discovery import find_socket

if TYPE_CHECKING:
    from hostdriver.cli.demo.extensions import Entry

EPILOG: Final = """\b
Examples:
  emuzero demo FILE                    with files of your own
  emuzero demo --list                  what else it can show
  emuzero demo --extension range       one extension, by a program to copy
  emuzero sweep -- emuzero demo --attach   with everything that can fail, once each

\b
Exit codes:
  0    every hash is equal, the reply was seen, all memory is free again;
       of an example: all its checks held
  1    something was not proved, or a process failed
  2    a file cannot be read, the files do not fit, no device has such a size,
       no example has that name
  3    no emulator listens, with --attach
  130  ended by Ctrl-C"""


@click.command(epilog=EPILOG)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--extension",
    type=EXTENSION,
    metavar="NAME",
    help="Show an extension instead: run its example and tell every call.",
)
@click.option("--list", "as_list", is_flag=True, help="List the extensions, and end.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON document (docs/demo.md).")
@click.option("--vram", type=SIZE, help="Memory of its device; 8GiB by default.")
@click.option(
    "--attach",
    is_flag=True,
    help="Take the emulator at EMUZERO_SOCKET, or your shared one, not a device of its own.",
)
@click.option(
    "--keep",
    is_flag=True,
    help="Stop while the memory is shared, until Enter: to look with `emuzero status`.",
)
def command(
    *,
    files: tuple[Path, ...],
    extension: Entry | None,
    as_list: bool,
    as_json: bool,
    vram: int | None,
    attach: bool,
    keep: bool,
) -> None:
    """Share FILEs between two processes through GPU memory, and show how.

    A device process and two client processes are started. The exporter maps three objects side by
    side, loads the files into them and exports a window of the range. The importer is given the 64
    bytes of the handle, finds the files in the memory, reads them back through its own page table
    and answers. Without FILE it takes files of emuzero itself.
    """
    if attach and vram is not None:
        raise BadInput("--vram is for a device of its own; with --attach the device is there")
    attached = find_socket() if attach else None
    if as_list:
        _list_extensions(as_json=as_json)
    elif extension is None:
        _share(files, as_json=as_json, vram=vram, keep=keep, attached=attached)
    elif files or keep:
        given = "files" if files else "--keep"
        raise BadInput(f"--extension runs a program as it is and takes no {given}")
    else:
        _show(extension, as_json=as_json, vram=vram, attached=attached)


def _list_extensions(*, as_json: bool) -> None:
    if as_json:
        found = {
            name: {"extension": entry.extension, "file": str(entry.file), "summary": entry.summary}
            for name, entry in EXTENSIONS.items()
        }
        say(json.dumps(found, indent=2))
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("what its example shows")
    for name, entry in EXTENSIONS.items():
        table.add_row(name, entry.summary)
    make_console().print(table)
    say(
        "\nRun one with `emuzero demo --extension NAME`; it names the file, which is there to copy."
    )


def _show(entry: Entry, *, as_json: bool, vram: int | None, attached: Path | None) -> None:
    record = Record()
    viewer = record if as_json else Screen(make_console())
    try:
        problem = perform(entry, viewer, vram_size=vram, attached=attached)
    except OSError as error:
        raise CommandError(f"the example cannot run: {error}") from error
    except CommandError as error:
        record.value["problem"] = error.message
        if as_json and not isinstance(error, BadInput):
            say(record.text())
        raise
    if as_json:
        say(record.text())
    if problem:
        raise CommandError(f"not given back: {problem}")


def _share(
    files: tuple[Path, ...],
    *,
    as_json: bool,
    vram: int | None,
    keep: bool,
    attached: Path | None,
) -> None:
    paths = [path.absolute() for path in (files or default_files())]
    check_files(paths)
    document = Document()
    audience = document if as_json else Story(make_console())
    try:
        verdict = run(paths, vram_size=vram, audience=audience, keep=keep, attached=attached)
    except OSError as error:
        raise CommandError(f"the demo cannot run: {error}") from error
    except CommandError as error:
        document.value["problem"] = error.message
        if as_json and not isinstance(error, BadInput):
            say(json.dumps(document.value, indent=2))
        raise
    if as_json:
        say(json.dumps(document.value, indent=2))
    if verdict.problem:
        raise CommandError(f"not proved: {verdict.problem}")
