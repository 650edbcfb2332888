"""Threads of several processes with lists of all kinds over the same memory: every byte is right.

Whatever the seed chooses: copies, boxes, fills, hints and barriers between memory of all kinds,
also that of other processes; immediate and regular lists, recorded lists that are executed again;
waits by engines and by threads for events of other threads and processes; fences and counters.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.harness.children import child
from tests.stress.plan import Scale, cells_of, rounds_of

if TYPE_CHECKING:
    import random

    from tests.harness.children import Child
    from tests.harness.emulator_process import EmulatorProcess

SMALL = Scale(processes=2, threads=2, rounds=1, tasks=60, cells=2)
LARGE = Scale(processes=4, threads=8, rounds=4, tasks=1200, cells=3)


def play(emulator: EmulatorProcess, seed: int, scale: Scale) -> None:
    """Let processes carry out a plan; look at all bytes after each round, and at what is left."""
    before = emulator.audit()
    with ExitStack() as stack:
        children = [
            stack.enter_context(
                child("tests.stress.worker", "main", emulator.path, number, seed, *scale)
            )
            for number in range(scale.processes)
        ]
        shared = [heard(process) for process in children]
        tell(children, f"[{', '.join(shared)}]")
        for number in range(scale.rounds):
            where = f"round {number} of seed {seed}"
            assert told(children) == ["prepared"] * scale.processes, where
            tell(children, "play")
            assert told(children) == ["[]"] * scale.processes, where
            tell(children, "next")
            assert told(children) == ["ended"] * scale.processes, where
            tell(children, "look")
            assert [json.loads(line) for line in told(children)] == [[]] * scale.processes, where
            tell(children, "on")
        assert told(children) == ["closed"] * scale.processes
        assert [process.end() for process in children] == [0] * scale.processes
    after = emulator.audit()
    assert after == before, f"seed {seed}"


def heard(process: Child) -> str:
    line = process.hear()
    assert line, "the process ended"
    return line


def told(children: list[Child]) -> list[str]:
    return [process.hear() for process in children]


def tell(children: list[Child], line: str) -> None:
    for process in children:
        process.say(line)


def test_two_processes_share_memory_and_events(
    emulator: EmulatorProcess, chance: random.Random
) -> None:
    play(emulator, chance.getrandbits(32), SMALL)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_four_processes_with_eight_threads_each_see_every_byte(
    emulator: EmulatorProcess, chance: random.Random
) -> None:
    play(emulator, chance.getrandbits(32), LARGE)


def test_a_plan_has_work_of_every_kind_and_is_the_same_for_a_seed() -> None:
    rounds = rounds_of(1, LARGE)

    assert rounds == rounds_of(1, LARGE) != rounds_of(2, LARGE)
    tasks = [task for tasks in rounds for task in tasks]
    assert {task.engine for task in tasks} == {
        (process, thread, number)
        for process in range(LARGE.processes)
        for thread in range(LARGE.threads)
        for number in range(2)
    }
    kinds = {type(command).__name__ for task in tasks for command in task.commands}
    assert kinds == {"Copy", "Region", "Fill", "Hint"}
    assert {task.ending for task in tasks} == {"append", "list", "host"}
    assert sum(task.again >= 0 for task in tasks) > 100
    across = [
        task
        for tasks in rounds
        for task in tasks
        if any(tasks[number].engine.process != task.engine.process for number in task.waits)
    ]
    assert len(across) > len(tasks) // 4
    assert len({task.on_host for task in across}) == 2
    assert len(cells_of(LARGE)) == LARGE.processes * 4 * LARGE.cells
