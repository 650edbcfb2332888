"""The ledger of a sweep: its plan and a line for each run, so that an interrupted one goes on."""

from __future__ import annotations

import contextlib
import fcntl
import threading
from typing import IO, TYPE_CHECKING, final

import msgspec

from firmware.inject import RuleError, parse_rule
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

    Owner: a sweep; any thread may add. Invariants: the file is a heading and whole lines, but for a
    last one that was interrupted, which is not read; it is locked, so no other sweep writes there.
    """

    __slots__ = ("_entries", "_file", "_lock", "heading")

    def __init__(self, heading: Heading, path: Path | None = None) -> None:
        """Begin anew, in a file too when there is a path: what it held is gone.

        Raises:
            BadInput: the file cannot be written, or another sweep writes there.
        """
        self.heading = heading
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._file: IO[bytes] | None = None
        if path is not None:
            try:
                self._file = _open(path)
                self._file.truncate(0)
                self._write(heading)
            except OSError as error:
                raise BadInput(f"{path}: {error.strerror}") from error

    @classmethod
    def resume(cls, path: Path, question: Question) -> Ledger | None:
        """Go on with the ledger in a file; None: there is none.

        Raises:
            BadInput: it is no ledger, or of another question, or cannot be used, or another sweep
                writes there.
        """
        with contextlib.ExitStack() as undo:
            try:
                if not path.exists():
                    return None
                if not path.is_file():
                    # A device may have no end.
                    raise BadInput(f"{path} is no file, and no ledger of a sweep")
                file = undo.enter_context(_open(path))
                data = path.read_bytes()
                whole = data[: data.rfind(b"\n") + 1]
                if not whole:
                    return None
                heading, entries = _decode(whole, path)
                if heading.question != question:
                    raise BadInput(
                        f"{path} is of another sweep: program, options, seed or rules differ;"
                        " --fresh begins anew"
                    )
                file.truncate(len(whole))
            except OSError as error:
                raise BadInput(f"{path}: {error.strerror}") from error
            found = cls(heading)
            found._entries = {entry.cell: entry for entry in entries}
            found._file = file
            undo.pop_all()
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


def _open(path: Path) -> IO[bytes]:
    """Return a ledger's file, to write at its end; nobody else has it meanwhile.

    Raises:
        BadInput: another sweep writes there.
        OSError: it cannot be opened.
    """
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise BadInput(f"{path}: another sweep writes there") from None
    except BaseException:
        file.close()
        raise
    return file


def _decode(data: bytes, path: Path) -> tuple[Heading, list[Entry]]:
    first, *others = data.splitlines()
    try:
        heading = msgspec.json.decode(first, type=Heading)
        for cell in heading.cells:
            parse_rule(cell)
        return heading, [msgspec.json.decode(line, type=Entry) for line in others]
    except (msgspec.DecodeError, UnicodeDecodeError, RuleError) as error:
        raise BadInput(f"{path} is no ledger of a sweep: {error}; --fresh begins anew") from error
