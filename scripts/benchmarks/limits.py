"""Limits in C: programs of the folder `c`, compiled at run time, asked for one figure at a time."""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.benchmarks.stand import processors

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

SOURCES = Path(__file__).with_name("c")
ABI_HEADER = Path(__file__).parents[2] / "hostdriver" / "clib" / "generated"
"""Where the generated C header of the contract stands."""
OPTIONS = ("-O2", "-pthread", f"-I{ABI_HEADER}")


def compile_limit(name: str, folder: Path, *options: str) -> Path:
    """Compile `c/NAME.c` into a folder; return the result."""
    result = folder / name
    source = SOURCES / f"{name}.c"
    # Libraries come behind what needs them.
    subprocess.run(["cc", *OPTIONS, "-o", str(result), str(source), *options], check=True)
    return result


class LimitProgram:
    """A limit program that runs and waits for questions."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, question: str, *numbers: int) -> float:
        """Return the program's answer in nanoseconds."""
        to, back = self._process.stdin, self._process.stdout
        if to is None or back is None:
            raise RuntimeError("a limit program is asked through pipes")
        to.write(" ".join((question, *map(str, numbers))) + "\n")
        to.flush()
        answer = back.readline()
        if not answer:
            raise RuntimeError(f"the limit program has no answer to {question} {numbers}")
        return float(answer)


@contextmanager
def limit_program(name: str, *arguments: object) -> Generator[LimitProgram]:
    """Compile and run `c/NAME.c`; see its head for arguments and questions."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(compile_limit(name, Path(folder))), *map(str, arguments)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
            try:
                yield LimitProgram(process)
            finally:
                process.kill()


@contextmanager
def ring_limit(
    lists: Sequence[bytes], source: int = 0, destination: int = 0, pages: int = 1
) -> Generator[LimitProgram]:
    """Run the limit of a work ring with lists of commands between two mapped areas."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / str(number) for number in range(len(lists))]
        for file, commands in zip(files, lists, strict=True):
            file.write_bytes(commands)
        arguments = (source, destination, pages, *processors(), *files)
        with limit_program("ring", *arguments) as limit:
            yield limit
