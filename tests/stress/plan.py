"""What every thread of every process does to which bytes, and what must come out; from a seed.

A plan is one order of tasks. Each task runs on one engine (an immediate list or a queue of one
thread) and waits for the tasks of other engines whose bytes it reads or stores. So any execution
that keeps to the waits ends with the bytes of the plan's own order, which the oracle computes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

CELL: Final = 16 << 10
"""Bytes of a piece of memory that tasks use as a whole, as far as waiting is concerned."""
KINDS: Final = ("device", "host", "shared", "heap")
COMMON: Final = ("device", "host")
"""Kinds of memory that all processes open."""
COMMANDS: Final = 6
"""Commands of a task, at most."""


class Scale(NamedTuple):
    """How much there is of everything."""

    processes: int
    threads: int
    rounds: int
    tasks: int
    """Tasks of a round, in all processes together."""
    cells: int
    """Cells of each kind and process."""


class Engine(NamedTuple):
    """An in-order engine: the immediate list (0) or the queue (1) of a thread."""

    process: int
    thread: int
    number: int


class Cell(NamedTuple):
    """A piece of memory."""

    kind: str
    process: int
    number: int


class Box(NamedTuple):
    """One side of a copied box."""

    origin: tuple[int, int, int]
    row: int
    slice: int

    def at(self, y: int, z: int) -> int:
        """Return where a row begins."""
        x0, y0, z0 = self.origin
        return x0 + (y0 + y) * self.row + (z0 + z) * self.slice


class Copy(NamedTuple):
    """Copy bytes as memmove does."""

    to: Cell
    at: int
    source: Cell
    source_at: int
    size: int


class Region(NamedTuple):
    """Copy a box of (bytes, rows, slices)."""

    to: Cell
    box: Box
    source: Cell
    source_box: Box
    shape: tuple[int, int, int]


class Fill(NamedTuple):
    """Fill with a pattern."""

    to: Cell
    at: int
    pattern: bytes
    size: int


class Hint(NamedTuple):
    """A command that changes no byte: `barrier`, `ranges`, `prefetch` or `advise`."""

    what: str
    to: Cell


Command: TypeAlias = Copy | Region | Fill | Hint


@dataclass(frozen=True, slots=True)
class Task:
    """What one engine does between its waits and its signal."""

    number: int
    """Its place in the round."""
    engine: Engine
    commands: tuple[Command, ...]
    again: int = -1
    """The task of the same thread whose recorded list it executes once more; -1: none."""
    waits: tuple[int, ...] = ()
    """Tasks that come first."""
    on_host: bool = False
    """Whether the thread waits for them, and not the engine."""
    ending: str = "append"
    """How its end is told: with the last `append`, by a `list`, by the `host` after a fence."""


Bytes: TypeAlias = dict[Cell, bytearray]


@dataclass(slots=True)
class Accesses:
    """Who used a cell last, as far as later tasks have to wait for it."""

    writer: Task | None = None
    readers: list[Task] = field(default_factory=list[Task])


def cells_of(scale: Scale) -> list[Cell]:
    """Return all memory there is."""
    return [
        Cell(kind, process, number)
        for process in range(scale.processes)
        for kind in KINDS
        for number in range(scale.cells)
    ]


def first_bytes(cell: Cell) -> bytearray:
    """Return what a cell holds before the first round."""
    return bytearray(random.Random(repr(cell)).randbytes(CELL))


def rounds_of(seed: int, scale: Scale) -> list[list[Task]]:
    """Return the tasks of every round."""
    chance = random.Random(seed)
    return [_round(chance, scale) for _ in range(scale.rounds)]


def carry_out(memory: Bytes, task: Task) -> None:
    """Do to the oracle's bytes what a task does."""
    for command in task.commands:
        match command:
            case Copy(to, at, source, source_at, size):
                memory[to][at : at + size] = bytes(memory[source][source_at : source_at + size])
            case Region(to, box, source, source_box, (width, height, depth)):
                for z in range(depth):
                    for y in range(height):
                        start, out_of = box.at(y, z), source_box.at(y, z)
                        row = memory[source][out_of : out_of + width]
                        memory[to][start : start + width] = row
            case Fill(to, at, pattern, size):
                memory[to][at : at + size] = pattern * (size // len(pattern))
            case Hint():
                pass


def _round(chance: random.Random, scale: Scale) -> list[Task]:
    cells = cells_of(scale)
    accesses = {cell: Accesses() for cell in cells}
    recorded: dict[tuple[int, int], list[Task]] = {}
    tasks: list[Task] = []
    for number in range(scale.tasks):
        thread = (chance.randrange(scale.processes), chance.randrange(scale.threads))
        engine = Engine(*thread, chance.randrange(2))
        known = recorded.setdefault(thread, [])
        repeated = chance.choice(known) if known and chance.random() < 0.3 else None
        mine = [cell for cell in cells if cell.kind in COMMON or cell.process == engine.process]
        commands = repeated.commands if repeated else _commands(chance, mine)
        ending = chance.choice(("append", "list", "host")) if engine.number else "append"
        task = Task(
            number,
            engine,
            commands,
            again=repeated.number if repeated else -1,
            waits=_waits(accesses, engine, commands),
            on_host=chance.random() < 0.25,
            ending=ending,
        )
        _note(accesses, task)
        tasks.append(task)
        if engine.number and repeated is None:
            known.append(task)
    return tasks


def _commands(chance: random.Random, cells: list[Cell]) -> tuple[Command, ...]:
    makers = (_copy, _copy, _fill, _region, _hint)
    return tuple(
        chance.choice(makers)(chance, cells) for _ in range(chance.randrange(1, COMMANDS + 1))
    )


def _copy(chance: random.Random, cells: list[Cell]) -> Copy:
    size = chance.choice((1, 7, 64, 1000, 4096, CELL))
    at, source_at = (chance.randrange(CELL - size + 1) for _ in range(2))
    return Copy(chance.choice(cells), at, chance.choice(cells), source_at, size)


def _fill(chance: random.Random, cells: list[Cell]) -> Fill:
    pattern = chance.randbytes(1 << chance.randrange(9))
    size = len(pattern) * chance.randrange(1, CELL // len(pattern) + 1)
    at = chance.randrange((CELL - size) // len(pattern) + 1) * len(pattern)
    return Fill(chance.choice(cells), at, pattern, size)


def _region(chance: random.Random, cells: list[Cell]) -> Region:
    to, source = chance.sample(cells, 2)
    width, height, depth = chance.randrange(1, 60), chance.randrange(1, 12), chance.randrange(1, 5)

    def side() -> Box:
        row = width + chance.randrange(40)
        layer = row * height + chance.randrange(50)
        # The farthest byte is less than 18 rows and 5 slices behind the start, all in the cell.
        origin = (chance.randrange(30), chance.randrange(8), chance.randrange(2))
        return Box(origin, row, layer)

    return Region(to, side(), source, side(), (width, height, depth))


def _hint(chance: random.Random, cells: list[Cell]) -> Hint:
    what = chance.choice(("barrier", "ranges", "prefetch", "advise"))
    return Hint(what, chance.choice([cell for cell in cells if cell.kind != "heap"]))


def _reads_and_writes(commands: tuple[Command, ...]) -> tuple[set[Cell], set[Cell]]:
    reads = {command.source for command in commands if isinstance(command, Copy | Region)}
    writes = {command.to for command in commands if not isinstance(command, Hint)}
    return reads, writes


def _waits(
    accesses: dict[Cell, Accesses], engine: Engine, commands: tuple[Command, ...]
) -> tuple[int, ...]:
    reads, writes = _reads_and_writes(commands)
    before: dict[Engine, int] = {}
    for cell in reads | writes:
        found = accesses[cell]
        users = [found.writer, *(found.readers if cell in writes else [])]
        for user in users:
            if user is not None and user.engine != engine:
                # What an engine did last stands for all that it did before.
                before[user.engine] = max(before.get(user.engine, 0), user.number)
    return tuple(sorted(before.values()))


def _note(accesses: dict[Cell, Accesses], task: Task) -> None:
    reads, writes = _reads_and_writes(task.commands)
    for cell in writes:
        accesses[cell] = Accesses(task)
    for cell in reads - writes:
        accesses[cell].readers.append(task)
