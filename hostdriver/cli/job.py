"""What a command is a part of: a run around it, or the job of a launcher such as mpirun.

Ranks of one job share devices, as they do on a machine that has some. So `mpirun -n 2 emuzero run
-- ./program` runs one emulator, as does `emuzero run -- mpirun -n 2 ./program`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from firmware.link.errors import AttachError
from firmware.link.runtime_dir import socket_folder
from hostdriver.cli.exits import CommandError
from hostdriver.cli.observer import Observer
from hostdriver.runtime.ondemand import emulator_command, ensure_listener, listens, start_command

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

RUN_VARIABLE: Final = "EMUZERO_RUN"
"""Environment variable in which a run tells its program where its emulator listens."""
_NAMES_OF_JOBS: Final = (
    ("PMIX_NAMESPACE",),
    ("OMPI_MCA_ess_base_jobid",),
    ("SLURM_JOB_ID", "SLURM_STEP_ID"),
)
"""Variables by which launchers name a job to its ranks."""
_RANK: Final = "PMI_RANK"
"""Variable of launchers that name no job; their ranks on one machine have one ancestor."""
_PROC: Final = Path("/proc")


def run_around() -> Path | None:
    """Return where the emulator of a run around this process listens, if it does."""
    socket = os.environ.get(RUN_VARIABLE, "")
    return Path(socket) if socket and listens(Path(socket)) else None


def job_of(environment: Mapping[str, str]) -> str | None:
    """Return what names the launcher's job that this process is a rank of; None outside of one."""
    for names in _NAMES_OF_JOBS:
        values = [environment.get(name, "") for name in names]
        if all(values):
            return f"{names[0]}={'.'.join(values)}"
    return _launcher() if _RANK in environment else None


@contextlib.contextmanager
def job_emulator(job: str, options: Sequence[str]) -> Generator[Path]:
    """Have the emulator of a job, with these options of `serve`, listen; yield its socket.

    The first rank that asks starts it, and it ends when the last rank has left. Ranks with other
    options have one of their own.

    Raises:
        CommandError: it cannot run.
    """
    name = hashlib.sha256("\0".join([job, *options]).encode()).hexdigest()[:16]
    try:
        # All jobs have one lock and one log, which are named after what stands before the dot.
        socket = socket_folder() / f"jobs.{name}"
        ensure_listener(
            socket, partial(start_command, command=[*emulator_command(socket), *options])
        )
    except AttachError as error:
        raise CommandError(str(error)) from error
    # A rank that ends before another has begun must not take the emulator along.
    with Observer(socket, name="emuzero run"):
        yield socket


def _launcher() -> str:
    """Return what names the nearest ancestor that is no rank itself."""
    pid, started = os.getppid(), ""
    while pid > 1:
        parent, started = _parent_of(pid)
        if not _is_rank(pid):
            break
        pid = parent
    return f"launcher={pid}.{started}"


def _parent_of(pid: int) -> tuple[int, str]:
    """Return a process's parent, and when it began, which tells it from others of its number."""
    # The name, in brackets, may hold anything.
    fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return int(fields[1]), fields[19]


def _is_rank(pid: int) -> bool:
    """Return whether a process has the variable of a rank; others' processes are none of ours."""
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return any(entry.startswith(f"{_RANK}=".encode()) for entry in environment.split(b"\0"))
