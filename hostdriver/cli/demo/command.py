"""`emuzero demo`: usage, and what is told at its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click

from hostdriver.cli.console import make_console, say
from hostdriver.cli.demo.document import Document
from hostdriver.cli.demo.inputs import check_files, default_files
from hostdriver.cli.demo.run import run
from hostdriver.cli.demo.story import Story
from hostdriver.cli.exits import BadInput, CommandError
from hostdriver.cli.sizes import SIZE

EPILOG: Final = """\b
Exit codes:
  0    every hash is equal, the reply was seen, all memory is free again
  1    something was not proved, or a process failed
  2    a file cannot be read, the files do not fit, or no device has such a size
  130  ended by Ctrl-C"""


@click.command(epilog=EPILOG)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Write one JSON document (docs/demo.md).")
@click.option("--vram", type=SIZE, help="Memory of the device; 8GiB by default.")
@click.option(
    "--keep",
    is_flag=True,
    help="Stop while the memory is shared, until Enter: to look with `emuzero status`.",
)
def command(*, files: tuple[Path, ...], as_json: bool, vram: int | None, keep: bool) -> None:
    """Share FILEs between two processes through GPU memory, and show how.

    A device process and two client processes are started. The exporter maps three objects side by
    side, loads the files into them and exports a window of the range. The importer is given the 64
    bytes of the handle, finds the files in the memory, reads them back through its own page table
    and answers. Without FILE it takes files of emuzero itself.
    """
    paths = [path.absolute() for path in (files or default_files())]
    check_files(paths)
    document = Document()
    audience = document if as_json else Story(make_console())
    try:
        verdict = run(paths, vram_size=vram, audience=audience, keep=keep)
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
