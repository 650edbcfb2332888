"""`emuzero serve`: run an emulator in this process until it is told to end."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import traceback
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from firmware.abi.channel import Watching
from firmware.link.errors import AttachError
from hostdriver.channel.recorder import Recorder
from hostdriver.cli import emulator
from hostdriver.cli.console import say, warn
from hostdriver.cli.exits import BadInput, CommandError
from hostdriver.cli.faults.given import fault_options, injection_of
from hostdriver.cli.hostlimits import memory_limits
from hostdriver.cli.options import DRIVER_OPTION, LOG_OPTION, device_options
from hostdriver.cli.owned import owned
from hostdriver.cli.sizes import format_size
from hostdriver.cli.specfile import read_file, read_spec
from hostdriver.runtime.discovery import find_socket

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hostdriver.cli.emulator import DeviceSpec, Powered

_RECORDS: Final = {"count": Watching.COUNT, "trace": Watching.COUNT | Watching.TRACE}
EPILOG: Final = """\b
Exit codes:
  0  told to end (SIGINT, SIGTERM), or the last client has left
  1  cannot run: the socket is taken, memory or descriptors ran out, a device halted
  2  wrong command line, specification, image file or rule of --fault, --scenario, EMUZERO_FAULTS

A firmware image that the devices refuse is no error: they stay in their boot state, which
`emuzero status` shows with the reason."""


@click.command(epilog=EPILOG)
@device_options
@click.option(
    "--socket",
    type=click.Path(path_type=Path),
    help="Where to listen; else EMUZERO_SOCKET, else the shared one of this user.",
)
@click.option(
    "--firmware", type=click.Path(path_type=Path), help="Firmware image; else the reference one."
)
@click.option("--on-demand", is_flag=True, help="End when the last client has left.")
@click.option(
    "--ready-fd", type=click.IntRange(0), help="Descriptor that gets a JSON line when ready."
)
@click.option(
    "--private",
    type=click.IntRange(1),
    hidden=True,
    help="End with this process, which started it; at the end, remove the socket's folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Say what runs as a JSON object.")
@DRIVER_OPTION
@LOG_OPTION
@fault_options
@click.option(
    "--record",
    type=click.Choice(list(_RECORDS)),
    help="Tell of C programs: their accounts, or every call too (docs/trace.md).",
)
@click.option(
    "--record-fd",
    type=click.IntRange(0),
    help="Descriptor that gets the records; it must block.",
)
def command(  # noqa: PLR0913 - one for each option
    *,
    devices: int | None,
    vram: int | None,
    spec: Path | None,
    profile: str | None,
    socket: Path | None,
    firmware: Path | None,
    on_demand: bool,
    ready_fd: int | None,
    private: int | None,
    as_json: bool,
    driver: str | None,
    log: str | None,
    fault: tuple[str, ...],
    scenario: Path | None,
    seed: int | None,
    count_points: bool,
    record: str | None,
    record_fd: int | None,
) -> None:
    """Run an emulator in the foreground.

    It prints one line when the first client can connect, and ends at Ctrl-C or SIGTERM.
    """
    for name, number in (("--ready-fd", ready_fd), ("--record-fd", record_fd)):
        if number is not None:
            _check_descriptor(name, number)
    if log is not None:
        _begin_log(log)
    recorder = _recorder(record, record_fd)
    apart = driver == "process"
    injection = injection_of(fault, scenario, seed, counts_all=count_points)
    made = read_spec(spec, vram_size=vram, profile=profile)
    image = None if firmware is None else read_file(firmware)
    count = made.devices if devices is None else devices
    _warn_of_memory(count * made.vram_size)
    path = _socket_path(socket)

    def ready(powered: Sequence[Powered]) -> None:
        # Signals are the emulator's now: whatever comes, it has been told to end.
        leaving.is_under_way = True
        _warn_of_refusals(powered)
        _warn_of_limits(made, powered[0].spec)
        announcement = json.dumps(describe(path, powered))
        # Clients may need the emulator even if nobody reads what it says.
        with contextlib.suppress(BrokenPipeError):
            say(announcement if as_json else headline(path, powered))
        if ready_fd is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(ready_fd, announcement.encode() + b"\n")
            os.close(ready_fd)

    with owned(private, path.parent) as leaving, _explained(path):
        emulator.serve(
            (made,) * count,
            path,
            image=image,
            on_demand=on_demand,
            ready=ready,
            recorder=recorder,
            apart=apart,
            scenario=injection.scenario,
            counts_all=injection.counts_all,
        )


def describe(path: Path, powered: Sequence[Powered]) -> dict[str, object]:
    """Return what runs, as it is written in JSON (see docs/status.md)."""
    return {
        "schema": 1,
        "socket": str(path),
        "pid": os.getpid(),
        "devices": [
            {
                "index": index,
                "name": device.spec.name,
                "vram_size": device.spec.vram_size,
                "phase": device.status.phase.name,
                "boot_error": device.status.boot_error.name,
            }
            for index, device in enumerate(powered)
        ],
    }


def headline(path: Path, powered: Sequence[Powered]) -> str:
    """Return what runs in one line."""
    first = powered[0].spec
    what = f"{len(powered)} devices with {format_size(first.vram_size)} each"
    if len(powered) == 1:
        what = f"{first.name} with {format_size(first.vram_size)}"
    return f"emuzero: {what} at {path} (process {os.getpid()})"


def _begin_log(level: str) -> None:
    """Write what the emulator logs to standard error."""
    logging.basicConfig(
        level=level.upper(), format="%(asctime)s emuzero %(levelname)s: %(message)s", force=True
    )


def _recorder(record: str | None, descriptor: int | None) -> Recorder | None:
    if (record is None) != (descriptor is None):
        raise BadInput("--record and --record-fd need each other")
    if record is None or descriptor is None:
        return None
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - positional only
    return Recorder(descriptor, _RECORDS[record])


def _check_descriptor(name: str, number: int) -> None:
    try:
        os.fstat(number)
    except OSError as error:
        raise BadInput(f"{name}: descriptor {number} is not open") from error


def _socket_path(given: Path | None) -> Path:
    try:
        return find_socket(given)
    except AttachError as error:
        raise CommandError(str(error)) from error


def _warn_of_memory(wanted: int) -> None:
    """Warn when device memory may outgrow what the host gives; it is taken only as it is used."""
    tightest = next(iter(memory_limits()), None)
    if tightest is not None and wanted > tightest.free_bytes:
        warn(
            f"{format_size(wanted)} of device memory exceed {tightest.source},"
            f" {format_size(tightest.free_bytes)}: programs that use more may be killed"
        )


def _warn_of_refusals(powered: Sequence[Powered]) -> None:
    for index, device in enumerate(powered):
        if device.refusal:
            warn(f"device {index} stays in its boot state, clients are refused: {device.refusal}")


def _warn_of_limits(wanted: DeviceSpec, given: DeviceSpec) -> None:
    """Warn of limits that the firmware lowers."""
    for field in fields(wanted):
        asked, got = getattr(wanted, field.name), getattr(given, field.name)
        if asked != got:
            warn(f"{field.name} is {got}, not {asked}: the firmware has this limit")


@contextlib.contextmanager
def _explained(path: Path) -> Generator[None]:
    """Say in words why an emulator at `path` cannot run.

    Raises:
        CommandError: it cannot.
    """
    try:
        yield
    except AttachError as error:
        raise CommandError(f"{_no_listening(path, error)}; --socket listens elsewhere") from error
    except OSError as error:
        raise CommandError(f"the emulator cannot run: {error}") from error
    except ExceptionGroup as group:
        # A bug of ours: whoever reports it needs more than a line.
        traceback.print_exception(group)
        raise CommandError(f"the emulator ended: {_first(group)}") from group


def _no_listening(path: Path, error: AttachError) -> str:
    """Return why nobody can listen at a path, in words that say who is there."""
    if not (isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EADDRINUSE):
        return str(error)
    if path.is_socket():
        return f"cannot listen at {path}: another process listens there"
    return f"cannot listen at {path}: something that is no socket has this name"


def _first(error: Exception) -> Exception:
    """Return the first error in a group of groups."""
    while isinstance(error, ExceptionGroup):
        inner = cast("ExceptionGroup[Exception]", error)
        error = inner.exceptions[0]
    return error
