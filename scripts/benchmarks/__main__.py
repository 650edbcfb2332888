"""Runs benchmarks and shows each figure beside its limit.

A benchmark is a module `bench_NAME.py` in this folder whose docstring says what it measures and
whose `run()` returns a list of `Row`s.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from scripts.benchmarks.report import Row

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the names of all benchmarks."""
    return sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))


def summary(name: str) -> str:
    """Return the first line of a benchmark's docstring."""
    module = importlib.import_module(f"scripts.benchmarks.bench_{name}")
    return (module.__doc__ or "").strip().splitlines()[0]


def measure(name: str) -> list[Row]:
    """Run one benchmark."""
    module = importlib.import_module(f"scripts.benchmarks.bench_{name}")
    rows: list[Row] = module.run()
    return rows


def show(name: str, rows: list[Row], before: dict[str, float]) -> None:
    """Print the rows of one benchmark as a table."""
    table = Table(title=name, title_justify="left")
    for heading in ("what", "figure", "limit in the same run", "ratio", "bar", ""):
        table.add_column(heading)
    if before:
        table.add_column("ratio before")
    for row in rows:
        sign = "≥" if row.higher_is_better else "≤"
        cells = [
            row.what + (f"\n({row.note})" if row.note else ""),
            f"{row.value:.4g} {row.unit}",
            f"{row.limit:.4g} {row.unit}: {row.limit_is}",
            f"{row.ratio:.3g}x",
            f"{sign} {row.bar:g}x",
            "[green]met[/green]" if row.met else "[red]not met[/red]",
        ]
        if before:
            old = before.get(row.what)
            cells.append("-" if old is None else f"{old:.3g}x")
        table.add_row(*cells)
    Console().print(table)


def earlier(path: Path | None) -> dict[str, float]:
    """Return the ratios of an earlier run by what they measure."""
    if path is None:
        return {}
    data = json.loads(path.read_text())
    return {row["what"]: row["ratio"] for rows in data["results"].values() for row in rows}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--list", "list_only", is_flag=True, help="Name the benchmarks and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("--output", type=click.Path(path_type=Path), help="Also keep the JSON in a file.")
@click.option(
    "--compare",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Show the ratios of an earlier run (a file kept by --output) beside these.",
)
@click.argument("wanted", nargs=-1, metavar="[NAME ...]")
def main(
    wanted: tuple[str, ...],
    output: Path | None,
    compare: Path | None,
    *,
    list_only: bool,
    as_json: bool,
) -> None:
    """Measure; exits 0 whether bars are met or not, for machines differ: the ratios are shown."""
    known = names()
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise click.UsageError(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = list(wanted) or known
    if list_only:
        for name in chosen:
            click.echo(f"{name:16} {summary(name)}")
        return
    results: dict[str, list[dict[str, object]]] = {}
    before = earlier(compare)
    for name in chosen:
        rows = measure(name)
        results[name] = [row.as_dict() for row in rows]
        if not as_json:
            show(name, rows, before)
    document = {
        "machine": {
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "kernel": platform.release(),
            "load": os.getloadavg()[0],
        },
        "results": results,
    }
    text = json.dumps(document, indent=2)
    if output is not None:
        output.write_text(text + "\n")
    if as_json:
        sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main(prog_name="scripts/bench")
