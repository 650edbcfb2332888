"""Sweeps our own programs, one after the other, each as `emuzero sweep` does it.

Every run is noted in the folder of its program as soon as it is judged: ended by Ctrl-C, the same
command goes on where it was.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from scripts.sweeps.programs import SUMMARIES, program


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1, type=click.Choice(list(SUMMARIES)))
@click.option("--list", "as_list", is_flag=True, help="List the programs, and end.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("sweeps"),
    show_default=True,
    help="A folder for each program goes there, with its reports.",
)
@click.option("--workers", type=click.IntRange(1), help="As of `emuzero sweep`.")
@click.option("--most", type=click.IntRange(0), default=0, help="As of `emuzero sweep`.")
@click.option("--seed", type=int, default=0, help="As of `emuzero sweep`.")
def main(
    *,
    names: tuple[str, ...],
    as_list: bool,
    output: Path,
    workers: int | None,
    most: int,
    seed: int,
) -> None:
    """Sweep our own programs, all sites of all points; by default all programs."""
    if as_list:
        for name, summary in SUMMARIES.items():
            click.echo(f"{name:<14} {summary}")
        return
    at_a_time = [] if workers is None else ["--workers", str(workers)]
    codes: list[int] = []
    for name in names or SUMMARIES:
        folder = (output / name).absolute()
        done = subprocess.run(
            [
                *(sys.executable, "-m", "hostdriver.cli", "sweep", "--vram", "64MiB"),
                *("--output", str(folder), "--most", str(most), "--seed", str(seed)),
                *at_a_time,
                *("--", *program(name, folder)),
            ],
            check=False,
        )
        codes.append(done.returncode)
    sys.exit(max(codes))


if __name__ == "__main__":
    main(prog_name="scripts/sweep")
