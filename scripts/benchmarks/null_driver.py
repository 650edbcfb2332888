"""The null driver of the loader's authors: a limit for calls that a driver answers by itself.

It comes with the sources of Debian's loader, is compiled from them at run time, and carries out
nothing: most of its functions return SUCCESS at once. Beside it our library runs the same program
under the same loader.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from hostdriver.clib.build import LOADER, SOURCES, library
from scripts.benchmarks.limits import LimitProgram, compile_limit
from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import alternate, device_process
from tests.harness.installed import debian_packages, debian_source

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
DRIVER = "source/drivers/null"
MAIN_FILE = f"{DRIVER}/ze_null.cpp"
BAR = 1.5
CALLS = 1_000
"""Calls of a sample; as many appends fit into the ring of the channel."""
ROUNDS = 5
LIMIT_IS = "the null driver under the same loader"


class Asked(NamedTuple):
    """A question of `c/loaded.c`, and what it measures."""

    what: str
    question: str


class Loaded(NamedTuple):
    """The program twice under one loader: with our library, and with the null driver."""

    ours: LimitProgram
    null: LimitProgram


def rows_beside_null_driver(name: str, asked: Sequence[Asked]) -> list[Row]:
    """Return a row a question; none, and one line, where loader or driver cannot be had."""
    try:
        # What cannot be installed ends a test; a benchmark has other rows.
        loader, driver = debian_packages("libze1"), debian_source("level-zero", MAIN_FILE)
    except pytest.fail.Exception as failure:
        why = " ".join((failure.msg or "").split())
        sys.stderr.write(f"{name}: no rows beside the null driver: {why}\n")
        return []
    with _programs(loader / LIBRARIES, driver) as programs:
        ways = [
            partial(program.ask, each.question, CALLS) for each in asked for program in programs
        ]
        found = alternate(ways, ROUNDS)
    return [
        Row(what=each.what, value=ours, unit="ns", limit=null, limit_is=LIMIT_IS, bar=BAR)
        for each, ours, null in zip(asked, found[::2], found[1::2], strict=True)
    ]


@contextmanager
def _programs(loader: Path, sources: Path) -> Generator[Loaded]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        emulator = stack.enter_context(device_process())
        null = _compile_driver(sources, folder)
        program = compile_limit(
            *("loaded", folder, "-std=gnu11", f"-I{SOURCES / 'generated'}"),
            *(f"-L{loader}", f"-l:{LOADER}", f"-Wl,-rpath,{loader}"),
        )

        def start(driver: Path) -> LimitProgram:
            process = subprocess.Popen(
                [str(program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={
                    **os.environ,
                    "EMUZERO_SOCKET": str(emulator.path),
                    "LD_LIBRARY_PATH": str(loader),
                    "ZE_ENABLE_ALT_DRIVERS": str(driver),
                },
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return LimitProgram(process)

        yield Loaded(start(library()), start(null))


def _compile_driver(sources: Path, folder: Path) -> Path:
    """Compile the null driver as its own build does."""
    result = folder / "libze_null.so.1"
    includes = [f"-I{sources / part}" for part in ("include", "source/inc", DRIVER)]
    files = sorted(map(str, (sources / DRIVER).glob("*.cpp")))
    options = ("-std=c++14", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")
    subprocess.run(
        ["c++", *options, "-fno-strict-aliasing", *includes, "-o", str(result), *files],
        check=True,
    )
    return result
