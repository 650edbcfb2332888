"""`emuzero doctor`: looks at everything that programs need, and says what to do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import click

from hostdriver.cli.console import make_console, say
from hostdriver.cli.doctor.emulator import check_emulator
from hostdriver.cli.doctor.finding import Finding, Level
from hostdriver.cli.doctor.library import check_library
from hostdriver.cli.doctor.loader import check_loader
from hostdriver.cli.doctor.system import check_system
from hostdriver.cli.doctor.variables import check_variables
from hostdriver.cli.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA: Final = 1
EPILOG: Final = """\b
Exit codes:
  0  programs can run; warnings matter to some of them
  1  there is a problem: no program will run, or none that this shell starts
  2  wrong command line"""
_STYLES: Final = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "bold red"}


@click.command(epilog=EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Write JSON (docs/programs.md).")
def command(*, as_json: bool) -> int:
    """Look at library, loader, compiler, permissions and environment, and say what to do."""
    findings = examine()
    is_healthy = all(finding.level is not Level.PROBLEM for finding in findings)
    if as_json:
        say(json.dumps(document_of(findings, is_healthy=is_healthy), indent=2))
    else:
        _show(findings, is_healthy=is_healthy)
    return Exit.OK if is_healthy else Exit.FAILED


def examine() -> list[Finding]:
    """Return what every check found."""
    emulator = check_emulator()
    return [
        *check_library(),
        *check_loader(),
        emulator.finding,
        *check_variables(device_count=emulator.device_count),
        *check_system(),
    ]


def document_of(findings: Sequence[Finding], *, is_healthy: bool) -> dict[str, object]:
    """Return the findings as they are written in JSON."""
    return {
        "schema": SCHEMA,
        "healthy": is_healthy,
        "checks": [
            {
                "name": finding.name,
                "level": finding.level.value,
                "found": finding.found,
                "advice": finding.advice,
            }
            for finding in findings
        ],
    }


def _show(findings: Sequence[Finding], *, is_healthy: bool) -> None:
    console = make_console()
    for finding in findings:
        style = _STYLES[finding.level]
        console.print(f"{finding.level.value:<8}", style=style, end="")
        console.print(f" {finding.name}: {finding.found}", soft_wrap=True)
        if finding.advice:
            console.print(f"         do: {finding.advice}", soft_wrap=True)
    console.print("Programs can run." if is_healthy else "Programs cannot run like this.")
