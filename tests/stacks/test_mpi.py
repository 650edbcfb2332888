"""Intel MPI with device memory: its benchmarks, and the example of docs/, between two ranks."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

if TYPE_CHECKING:
    from tests.stacks.conftest import Stack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "mpi"
TWO_RANKS = ("mpirun", "-n", "2", "-genv", "I_MPI_OFFLOAD", "1")
BENCHMARKS = {
    *("PingPong", "PingPing", "Sendrecv", "Exchange", "Bcast", "Barrier", "Alltoall", "Alltoallv"),
    *("Allgather", "Allgatherv", "Gather", "Gatherv", "Scatter", "Scatterv"),
    *("Reduce", "Reduce_local", "Reduce_scatter", "Reduce_scatter_block"),
}
"""All but Allreduce, which needs a kernel for more than 8 KiB."""
ADDRESS = re.compile(r"0x[0-9a-f]{12}\b")
"""Where the system happens to have room."""
ROW = re.compile(r"^ +(\d+) +2 ", re.MULTILINE)
"""A size in bytes and the number of repetitions."""


def benchmark(stack: Stack, folder: Path, *options: str, **variables: str) -> dict[str, set[int]]:
    """Run benchmarks; return which there were, and the sizes in bytes of what each moved."""
    # They look for CUDA first: a file that is no library ends that search.
    (folder / "libcudart.so").touch()
    libraries = f"{folder}:{stack.folder / 'lib'}"
    told = stack.run(
        *(*TWO_RANKS, "IMB-MPI1-GPU", "-mem_alloc_type", "device", "-iter", "2", *options),
        cwd=folder,
        LD_LIBRARY_PATH=libraries,
        **variables,
    )
    parts = (part.partition("\n") for part in told.split("# Benchmarking ")[1:])
    return {name.strip(): {int(size) for size in ROW.findall(rows)} for name, _, rows in parts}


def test_its_benchmarks_move_device_memory(stack: Stack, tmp_path: Path) -> None:
    found = benchmark(stack, tmp_path, "-msglog", "16:20", "-exclude", "Allreduce")

    assert set(found) == BENCHMARKS
    assert found["PingPong"] == found["Alltoallv"] == {0, *(1 << log for log in range(16, 21))}


def test_short_messages_move_too_when_it_does_not_map_device_memory(
    stack: Stack, tmp_path: Path
) -> None:
    found = benchmark(stack, tmp_path, "-msglog", "10:13", I_MPI_OFFLOAD_FAST_MEMCPY="0")

    assert set(found) == BENCHMARKS | {"Allreduce"}
    assert found["PingPong"] == {0, *(1 << log for log in range(10, 14))}
    assert max(found["Allreduce"]) == 8 << 10


def test_short_messages_move_by_default_where_handles_carry_device_memory(
    mapping_stack: Stack, tmp_path: Path
) -> None:
    found = benchmark(mapping_stack, tmp_path, "-msglog", "6:13")

    assert set(found) == BENCHMARKS | {"Allreduce"}
    assert found["PingPong"] == {0, *(1 << log for log in range(6, 14))}


def test_the_example_moves_memory_that_sycl_allocated(stack: Stack, tmp_path: Path) -> None:
    told = stack.run(*TWO_RANKS, "python", EXAMPLE / "exchange.py", cwd=tmp_path, I_MPI_DEBUG="120")

    # What it says of backend and devices at lower levels it says on some processors only.
    assert "MPIDI_GPU_init(): initializing GPU structures" in told
    assert "emuzero virtual GPU, device memory at" in told
    # No CPU can touch device memory: what arrived went through the device.
    digests = re.findall(r"^ +([0-9a-f]{64}) from rank ([01])$", told, re.MULTILINE)
    assert [rank for _, rank in digests] == ["1", "0"]
    assert "33,554,432 bytes crossed from device memory to device memory" in told


def test_ranks_that_are_run_each_by_the_command_share_devices(stack: Stack, tmp_path: Path) -> None:
    each = (sys.executable, "-m", "hostdriver.cli", "run", "--", "python", EXAMPLE / "exchange.py")

    told = stack.run(*TWO_RANKS, *each, cwd=tmp_path)

    assert "33,554,432 bytes crossed from device memory to device memory" in told


def test_the_picture_shows_what_the_example_prints(stack: Stack, tmp_path: Path) -> None:
    printed = stack.run(*TWO_RANKS, "python", EXAMPLE / "exchange.py", cwd=tmp_path)

    picture = ET.parse(EXAMPLE / "exchange.svg")  # noqa: S314 - our own file
    shown = [element.text or "" for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert [ADDRESS.sub("0x...", line) for line in shown[2:]] == [
        ADDRESS.sub("0x...", line.strip()) for line in printed.splitlines()
    ]
