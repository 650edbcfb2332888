"""Options of every command that starts an emulator: what its devices are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

import click

from firmware.abi.paging import Pte
from hostdriver.cli.sizes import SIZE
from hostdriver.core.state import Profile

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEVICES: Final = 1 << Pte.peer.width
"""As many as a page-table entry can name."""
ArgumentsT = ParamSpec("ArgumentsT")
ResultT = TypeVar("ResultT")
_OPTIONS: Final = (
    click.option(
        "--devices",
        type=click.IntRange(1, MAX_DEVICES),
        help="How many, all alike; by default as many as the specification says, or 1.",
    ),
    click.option(
        "--vram",
        type=SIZE,
        help="Memory of each device, such as 2GiB or 512M (powers of 1024); 8GiB by default.",
    ),
    click.option(
        "--spec",
        type=click.Path(path_type=Path),
        help="Device specification, a TOML file (docs/device.toml).",
    ),
    click.option(
        "--profile",
        type=click.Choice([profile.name.lower() for profile in Profile]),
        help="Behaviour where specification and real drivers differ; spec by default.",
    ),
)


DRIVERS: Final = ("inline", "process")
DRIVER_OPTION: Final = click.option(
    "--driver",
    type=click.Choice(DRIVERS),
    help="Where drivers of C programs run: in the emulator's thread, or each in a process of its"
    " own; inline by default.",
)
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
LOG_OPTION: Final = click.option(
    "--log",
    type=click.Choice(LOG_LEVELS),
    help="What the emulator says on standard error: info tells of programs, debug of calls too.",
)


def device_options(
    command: Callable[ArgumentsT, ResultT],
) -> Callable[ArgumentsT, ResultT]:
    """Give a command the options, as `devices`, `vram`, `spec` and `profile`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
