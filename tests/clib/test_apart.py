"""Drivers of C programs in processes of their own: the same results, and every end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.harness.commandline import PATIENCE_SECONDS, emuzero
from tests.harness.emulator_process import Audit, EmulatorProcess, emulator_process

Compile = Callable[[str], Path]


@pytest.fixture(name="apart", scope="module")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorProcess]:
    """Return an emulator with two devices that starts a driver for each program."""
    folder = tmp_path_factory.mktemp("apart")
    with emulator_process(folder, device_count=2, apart=True) as emulator:
        yield emulator


def drivers(emulator: EmulatorProcess) -> list[int]:
    """Return the processes of the drivers that run."""
    children = Path(f"/proc/{emulator.pid}/task/{emulator.pid}/children").read_text()
    return [int(word) for word in children.split()]


def settle(emulator: EmulatorProcess, expected: Audit) -> None:
    """Return once the drivers have ended, after their programs, and what is expected is there."""
    end = time.monotonic() + PATIENCE_SECONDS
    while (found := emulator.audit()) != expected or drivers(emulator):
        assert time.monotonic() < end, (found, expected)


@contextmanager
def program_that_waits(
    program: Path, emulator: EmulatorProcess
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `lost` to where it waits with memory of its own."""
    with subprocess.Popen(
        [program],
        env={**os.environ, "EMUZERO_SOCKET": str(emulator.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("memory", 0),
        *(
            pytest.param(name, faults, marks=pytest.mark.slow)
            for name, faults in [
                ("commands", 1),
                ("events", 0),
                ("threads", 0),
                ("forks", 0),
                ("appending", 0),
                ("queues", 0),
            ]
        ),
    ],
)
def test_a_program_sees_the_same_and_leaves_nothing(
    name: str, faults: int, compile_program: Compile, apart: EmulatorProcess
) -> None:
    before = apart.audit()

    subprocess.run(
        [compile_program(name)],
        env={**os.environ, "EMUZERO_SOCKET": str(apart.path)},
        check=True,
        timeout=PATIENCE_SECONDS,
    )

    settle(apart, replace(before, faults=before.faults + faults))


def test_a_program_that_is_killed_leaves_nothing(
    compile_program: Compile, apart: EmulatorProcess
) -> None:
    before = apart.audit()
    with program_that_waits(compile_program("lost"), apart) as program:
        assert len(drivers(apart)) == 1
        assert apart.audit().objects == before.objects + 1
        program.kill()

    settle(apart, before)


def test_a_driver_that_is_killed_costs_its_program_alone(
    compile_program: Compile, apart: EmulatorProcess
) -> None:
    before = apart.audit()
    program = compile_program("lost")
    with program_that_waits(program, apart) as other:
        [bystander] = drivers(apart)
        with program_that_waits(program, apart) as struck:
            [driver] = {*drivers(apart)} - {bystander}
            os.kill(driver, signal.SIGKILL)
            _, errors = struck.communicate(timeout=PATIENCE_SECONDS)
            assert (struck.returncode, errors) == (0, b"")
        assert drivers(apart) == [bystander]
        os.kill(bystander, signal.SIGKILL)
        _, errors = other.communicate(timeout=PATIENCE_SECONDS)
        assert (other.returncode, errors) == (0, b"")

    settle(apart, before)


def test_calls_end_when_the_emulator_does(compile_program: Compile, tmp_path: Path) -> None:
    with (
        emulator_process(tmp_path, apart=True) as own,
        program_that_waits(compile_program("lost"), own) as program,
    ):
        [driver] = drivers(own)
        ended = os.pidfd_open(driver)
        own.process.kill()
        _, errors = program.communicate(timeout=PATIENCE_SECONDS)
        assert (program.returncode, errors) == (0, b"")
        assert select.select([ended], [], [], PATIENCE_SECONDS)[0]
        os.close(ended)


def test_run_gives_each_program_a_driver_where_it_is_asked_to(compile_program: Compile) -> None:
    program = compile_program("leaves")
    options = ("run", "--vram", "64MiB", "--log", "info")

    inline = emuzero(*options, "--", program)
    apart = emuzero(*options, "--driver", "process", "--", program)

    assert (inline.returncode, inline.stdout) == (apart.returncode, apart.stdout) == (0, "done\n")
    # Whoever holds the session logs that it begins, and drivers apart log nothing.
    assert ", leaves, begins" in inline.stderr
    assert ", leaves, begins" not in apart.stderr
