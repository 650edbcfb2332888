"""C programs, compiled against our declarations: what they see, and what is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hostdriver.clib.build import NAME, compile_library
from tests.harness.emulator_process import EmulatorProcess, emulator_process

Compile = Callable[[str], Path]


def environment(emulator: EmulatorProcess) -> dict[str, str]:
    return {**os.environ, "EMUZERO_SOCKET": str(emulator.path)}


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("basics", 0),
        ("loader", 0),
        ("queries", 0),
        ("memory", 0),
        ("mappings", 0),
        ("places", 0),
        ("extensions", 0),
        ("garbage", 0),
        ("commands", 1),
        ("events", 0),
        ("counting", 0),
        ("range", 0),
        ("descriptors", 0),
        ("reused", 0),
        ("handles", 0),
        ("crowd", 0),
        ("threads", 0),
        ("together", 0),
        ("waiters", 0),
        ("closes", 0),
        ("forks", 0),
        ("vendor", 0),
        ("functions", 0),
        ("ends", 0),
        ("closed", 0),
        ("closing", 0),
    ],
)
def test_a_c_program_sees_what_the_specification_says_and_leaves_nothing(
    name: str, faults: int, compile_program: Compile, emulator: EmulatorProcess
) -> None:
    before = emulator.audit()

    subprocess.run([compile_program(name)], env=environment(emulator), check=True, timeout=60)

    assert emulator.audit() == replace(before, faults=before.faults + faults)


def test_handles_outgrow_the_memory_that_they_begin_with(
    compile_program: Compile, emulator: EmulatorProcess, tmp_path: Path
) -> None:
    tight = tmp_path / NAME
    compile_library(tight, f"-DEMUZERO_FIRST_ROOM={4 * 128}")

    subprocess.run(
        [compile_program("crowd")],
        env=environment(emulator) | {"LD_PRELOAD": str(tight)},
        check=True,
        timeout=60,
    )


@pytest.mark.parametrize(("mask", "count"), [("", 2), ("1", 1)])
def test_identifiers_are_those_of_the_devices_that_a_program_sees(
    mask: str, count: int, compile_program: Compile, emulator: EmulatorProcess
) -> None:
    seen = environment(emulator) | {"ZE_AFFINITY_MASK": mask}

    subprocess.run([compile_program("identifiers"), str(count)], env=seen, check=True, timeout=60)


def test_memory_is_managed_through_the_handles_of_the_core(
    compile_program: Compile, emulator: EmulatorProcess
) -> None:
    before = emulator.audit()

    subprocess.run(
        [compile_program("sysman"), "2", "0"], env=environment(emulator), check=True, timeout=60
    )

    assert emulator.audit() == before


@pytest.mark.parametrize("hierarchy", ["COMPOSITE", "FLAT", "COMBINED"])
def test_cards_are_whole_devices_however_their_parts_are_seen(
    hierarchy: str, compile_program: Compile, tmp_path: Path
) -> None:
    program = compile_program("sysman")

    with emulator_process(tmp_path, device_count=2, spec="sub_devices = 2") as own:
        seen = environment(own) | {"ZE_FLAT_DEVICE_HIERARCHY": hierarchy}
        subprocess.run([program, "2", "2"], env=seen, check=True, timeout=60)


@pytest.mark.parametrize("queues", [4, 1000])
def test_whoever_is_told_that_a_queue_is_done_finds_it_so(
    queues: int, compile_program: Compile, tmp_path: Path
) -> None:
    with emulator_process(tmp_path, spec=f"max_queues = {queues}") as own:
        subprocess.run([compile_program("queues")], env=environment(own), check=True, timeout=60)


def test_a_program_that_is_killed_leaves_nothing(
    compile_program: Compile, emulator: EmulatorProcess
) -> None:
    before = emulator.audit()
    with subprocess.Popen(
        [compile_program("lost")],
        env=environment(emulator),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        assert emulator.audit().objects == before.objects + 1
        program.kill()

    assert emulator.audit() == before


def test_what_the_driver_told_already_is_answered_while_the_emulator_stands_still(
    compile_program: Compile, tmp_path: Path
) -> None:
    with (
        emulator_process(tmp_path) as own,
        subprocess.Popen(
            [compile_program("local")],
            env=environment(own),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as program,
    ):
        assert program.stdout is not None
        assert program.stdin is not None
        assert program.stdout.readline() == b"ready\n"
        os.kill(own.pid, signal.SIGSTOP)
        try:
            program.stdin.write(b"go\n")
            program.stdin.flush()
            assert program.stdout.readline() == b"done\n"
        finally:
            os.kill(own.pid, signal.SIGCONT)
        program.stdin.close()
        assert program.wait(timeout=30) == 0


def test_a_program_whose_emulator_is_killed_is_told_by_every_call(
    compile_program: Compile, tmp_path: Path
) -> None:
    with emulator_process(tmp_path) as own:
        program = subprocess.Popen(
            [compile_program("lost")],
            env=environment(own),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        own.process.kill()
        _, errors = program.communicate(timeout=30)

    assert (program.returncode, errors) == (0, b"")


def test_a_program_without_an_emulator_is_told_where_it_looked(
    compile_program: Compile, tmp_path: Path
) -> None:
    nowhere = tmp_path / "nobody.sock"

    done = subprocess.run(
        [compile_program("memory")],
        env={**os.environ, "EMUZERO_SOCKET": str(nowhere)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert f"no emulator listens at {nowhere}" in done.stderr
