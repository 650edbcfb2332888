"""The ledger of a sweep: its plan and a line for each run, so that an interrupted one goes on."""

from __future__ import annotations

import os
import threading
from typing import IO, TYPE_CHECKING, final

import msgspec

from hostdriver.cli.exits import BadInput
from hostdriver.cli.sweep.outcome import Outcome, Trial

if TYPE_CHECKING:
    from pathlib import Path

NAME = "sweep.jsonl"
"""Its file in the folder of a sweep."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a sweep is asked; the same question goes on in the same ledger."""

    program: list[str]
    options: dict[str, str]
    """Options of the emulator."""
    seed: int
    rules: list[str]
    """What fails, before sites were counted."""
    most: int
    """Cells of one rule and point; 0: all."""


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """What a ledger is about."""

    question: Question
    cells: list[str]
    """Rules of all cells as `--fault` takes them, in their order."""
    good: Trial
    """The run in which nothing failed."""
    compares_output: bool
    """Whether its output was the same twice."""
    reached: dict[str, int]
    """How often points were reached then."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a sweep."""

    cell: str
    point: str
    nth: int
    outcome: Outcome
    text: str
    trial: Trial
    recovered: bool
    """Whether the point was passed without a fault later in the run."""


@final
class Ledger:
    """Runs that were made, in memory and, with a path, in a file.

    Owner: a sweep; any thread may add. Invariant: the file is a heading and whole lines, but for a
    last one that was interrupted, which is not read.
    """

    __slots__ = ("_entries", "_file", "_lock", "heading")

    def __init__(self, heading: Heading, path: Path | None = None) -> None:
        """Begin anew, in a file too when there is a path: what it held is gone.

        Raises:
            BadInput: the file cannot be written.
        """
        self.heading = heading
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._file: IO[bytes] | None = None
        if path is not None:
            try:
                self._file = path.open("wb")
                self._write(heading)
            except OSError as error:
                raise BadInput(f"{path}: {error.strerror}") from error

    @classmethod
    def resume(cls, path: Path, question: Question) -> Ledger | None:
        """Go on with the ledger in a file; None: there is none.

        Raises:
            BadInput: it is no ledger, or of another question, or cannot be used.
        """
        try:
            data = path.read_bytes() if path.exists() else b""
            whole = data[: data.rfind(b"\n") + 1]
            if not whole:
                return None
            heading, entries = _decode(whole, path)
            if heading.question != question:
                raise BadInput(
                    f"{path} is of another sweep: program, options, seed or rules differ;"
                    " --fresh begins anew"
                )
            found = cls(heading)
            found._entries = {entry.cell: entry for entry in entries}
            os.truncate(path, len(whole))
            found._file = path.open("ab")
        except OSError as error:
            raise BadInput(f"{path}: {error.strerror}") from error
        return found

    def __len__(self) -> int:
        return len(self._entries)

    def open_cells(self) -> tuple[str, ...]:
        """Return the cells that were not run yet, in the order of the plan."""
        return tuple(cell for cell in self.heading.cells if cell not in self._entries)

    def add(self, entry: Entry) -> None:
        """Note a run; it is in the file when this returns."""
        with self._lock:
            self._entries[entry.cell] = entry
            self._write(entry)

    def entries(self) -> tuple[Entry, ...]:
        """Return the runs in the order of the plan."""
        cells = self.heading.cells
        return tuple(self._entries[cell] for cell in cells if cell in self._entries)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._file is not None:
            self._file.close()

    def _write(self, line: Heading | Entry) -> None:
        if self._file is not None:
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()


def _decode(data: bytes, path: Path) -> tuple[Heading, list[Entry]]:
    first, *others = data.splitlines()
    try:
        heading = msgspec.json.decode(first, type=Heading)
        return heading, [msgspec.json.decode(line, type=Entry) for line in others]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is no ledger of a sweep: {error}; --fresh begins anew") from error
