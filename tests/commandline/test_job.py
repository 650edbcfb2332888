"""`emuzero run` as part of something: inside another run, and as a rank of a launcher's job."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hostdriver.cli.job import job_of
from tests.harness.children import ROOT, Child

if TYPE_CHECKING:
    from pathlib import Path

RUN = [sys.executable, "-m", "hostdriver.cli", "run"]
SHOW = "import os; print(os.environ['EMUZERO_SOCKET'], flush=True)"
VRAM = ("--vram", "64MiB")
# A rank says where it is, then how many bytes of device memory it sees when it is told to.
RANK = f"""
{SHOW}
input()
from hostdriver import levelzero as ze
with ze.connect(start=None) as driver:
    print(driver.devices[0].get_memory_properties()[0].total_size)
"""
LAUNCHERS = ("PMIX", "OMPI", "SLURM", "PMI", "EMUZERO")


@pytest.fixture(name="outside")
def make_outside(tmp_path: Path) -> dict[str, str]:
    """Return an environment of no job, with a socket folder of its own."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(LAUNCHERS)}
    return {**kept, "XDG_RUNTIME_DIR": str(tmp_path)}


def rank(environment: dict[str, str], *options: str) -> subprocess.Popen[str]:
    """Begin a rank."""
    return subprocess.Popen(
        [*RUN, *options, "--", sys.executable, "-c", RANK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=ROOT,
    )


def ended(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *arguments], capture_output=True, text=True, check=False, env=environment, cwd=ROOT
    )


def test_a_run_inside_a_run_uses_its_emulator(outside: dict[str, str]) -> None:
    inner = [*RUN, "--", sys.executable, "-c", SHOW]
    both = f"{SHOW}; import subprocess; subprocess.run({inner!r}, check=True)"

    done = ended(*VRAM, "--", sys.executable, "-c", both, environment=outside)

    first, second = done.stdout.split()
    assert first == second


@pytest.mark.slow
def test_a_run_that_wants_other_devices_has_an_emulator_of_its_own(outside: dict[str, str]) -> None:
    inner = [*RUN, *VRAM, "--", sys.executable, "-c", SHOW]
    both = f"{SHOW}; import subprocess; subprocess.run({inner!r}, check=True)"

    done = ended(*VRAM, "--", sys.executable, "-c", both, environment=outside)

    first, second = done.stdout.split()
    assert first != second


def test_ranks_share_an_emulator_that_stays_until_the_last_has_ended(
    outside: dict[str, str], tmp_path: Path
) -> None:
    with rank({**outside, "PMI_RANK": "0"}, *VRAM) as one:
        with rank({**outside, "PMI_RANK": "1"}, *VRAM) as other:
            sockets = {Child(process).hear() for process in (one, other)}
            assert other.communicate("\n", 60)[0] == f"{64 << 20}\n"
        assert len(sockets) == 1
        assert one.communicate("\n", 60)[0] == f"{64 << 20}\n"
    assert (one.returncode, other.returncode) == (0, 0)
    (socket,) = sockets
    assert socket.startswith(str(tmp_path))


@pytest.mark.slow
def test_ranks_of_two_jobs_share_nothing_but_a_log(outside: dict[str, str], tmp_path: Path) -> None:
    with (
        rank({**outside, "PMIX_NAMESPACE": "job.1"}, *VRAM) as one,
        rank({**outside, "PMIX_NAMESPACE": "job.2"}, *VRAM) as other,
    ):
        assert Child(one).hear() != Child(other).hear()
        for process in (one, other):
            process.communicate("\n", 60)
    left = {path.name for path in (tmp_path / "emuzero").iterdir() if not path.is_socket()}
    assert left == {"jobs.lock", "jobs.log"}


def test_a_rank_cannot_sum_up_what_its_job_does(outside: dict[str, str]) -> None:
    done = ended("--summary", "--", "true", environment={**outside, "PMI_RANK": "0"})

    assert done.returncode == 2
    assert "emuzero run --summary -- mpirun" in done.stderr


@pytest.mark.parametrize(
    ("variables", "job"),
    [
        ({}, None),
        ({"PMIX_NAMESPACE": "a.1"}, "PMIX_NAMESPACE=a.1"),
        ({"OMPI_MCA_ess_base_jobid": "77"}, "OMPI_MCA_ess_base_jobid=77"),
        ({"SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0"}, "SLURM_JOB_ID=5.0"),
        ({"SLURM_JOB_ID": "5"}, None),
        ({"PMIX_NAMESPACE": "a.1", "PMI_RANK": "0"}, "PMIX_NAMESPACE=a.1"),
    ],
)
def test_launchers_name_their_jobs(variables: dict[str, str], job: str | None) -> None:
    assert job_of(variables) == job


def test_a_launcher_without_a_name_is_the_ancestor_that_is_no_rank() -> None:
    script = "import os; from hostdriver.cli.job import job_of; print(job_of(os.environ))"
    ranks = [
        subprocess.run(
            ["sh", "-c", f'{wrapper} "$0" -c "$1"', sys.executable, script],
            env={**os.environ, "PMI_RANK": "1", "PMIX_NAMESPACE": ""},
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        ).stdout
        for wrapper in ("exec", "", "exec env")
    ]

    assert len(set(ranks)) == 1
    assert ranks[0].startswith(f"launcher={os.getpid()}.")
