"""`emuzero status`: once or again and again, as tables or as JSON."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.live import Live

from firmware.link.errors import AttachError
from hostdriver.cli.console import make_console, say
from hostdriver.cli.exits import BadInput, CommandError
from hostdriver.cli.observer import Observer
from hostdriver.cli.status.document import document_of
from hostdriver.cli.status.screen import screen_of
from hostdriver.runtime.discovery import find_socket

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostdriver.cli.observer import Report

EPILOG: Final = """\b
Exit codes:
  0    shown
  1    the emulator refuses or does not answer
  2    wrong command line, or no such device
  3    no emulator listens there
  130  ended by Ctrl-C, as --watch always is"""


@click.command(epilog=EPILOG)
@click.option(
    "--socket",
    type=click.Path(path_type=Path),
    help="Where the emulator listens; else EMUZERO_SOCKET, else the shared one.",
)
@click.option("--device", type=click.IntRange(0), help="Show this device alone.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON (docs/status.md).")
@click.option(
    "--watch",
    type=click.FloatRange(0.1, 3600),
    is_flag=False,
    flag_value=1.0,
    metavar="[SECONDS]",
    help="Show it again every so often, each second by default.",
)
def command(*, socket: Path | None, device: int | None, as_json: bool, watch: float | None) -> None:
    """Show devices, clients, memory, address spaces, rings and faults of an emulator."""
    try:
        path = find_socket(socket)
    except AttachError as error:
        raise CommandError(str(error)) from error
    reports = _reports(path, device, watch)
    if as_json:
        for report in reports:
            # One line each while watching, so that a program can read them as they come.
            indent = 2 if watch is None else None
            say(json.dumps(document_of(report, only=device), indent=indent))
    elif watch is None:
        make_console().print(screen_of(next(reports), only=device))
    else:
        _watch(reports, device)


def _reports(path: Path, device: int | None, interval: float | None) -> Iterator[Report]:
    """Yield one report, or one each `interval` seconds for ever; each time the links are new."""
    while True:
        with Observer(path) as observer:
            report = observer.read()
        if device is not None and all(found.index != device for found in report.devices):
            raise BadInput(
                f"there is no device {device}; the emulator has {len(report.devices)},"
                " counted from 0"
            )
        yield report
        if interval is None:
            return
        time.sleep(interval)


def _watch(reports: Iterator[Report], device: int | None) -> None:
    """Show report after report in one place, or below each other without a terminal."""
    console = make_console()
    if not console.is_terminal:
        for report in reports:
            console.print(screen_of(report, only=device), "")
            console.file.flush()
        return
    with Live(console=console, auto_refresh=False, screen=True) as live:
        for report in reports:
            live.update(screen_of(report, only=device), refresh=True)
