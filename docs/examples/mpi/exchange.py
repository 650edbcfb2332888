"""MPI on GPU memory, and no GPU: two ranks exchange device memory that SYCL allocated.

    emuzero run -- mpirun -genv I_MPI_OFFLOAD 1 -n 2 python exchange.py

Nothing here knows of an emulator. Intel MPI finds out whose memory it is given, and shares it
between the processes through 64-byte handles.
"""

from __future__ import annotations

import hashlib

import dpctl
import numpy as np
from dpctl.memory import MemoryUSMDevice
from mpi4py import MPI

SIZE = 16 << 20
TAG = 1


def main() -> None:
    """Send one way, receive the other, and compare what arrived with what was sent."""
    world = MPI.COMM_WORLD
    rank, peer = world.rank, 1 - world.rank
    queue = dpctl.SyclQueue("level_zero:gpu")
    ours = MemoryUSMDevice(SIZE, queue=queue)
    theirs = MemoryUSMDevice(SIZE, queue=queue)
    ours.copy_from_host(np.random.default_rng(rank).integers(0, 256, SIZE, dtype=np.uint8))
    sums = world.allgather(sha256(ours))

    world.Sendrecv(buffer(ours), peer, TAG, buffer(theirs), peer, TAG)

    arrived = sha256(theirs)
    if arrived != sums[peer]:
        message = f"rank {rank} received {arrived}, and {sums[peer]} was sent"
        raise AssertionError(message)
    if rank == 0:
        print(f"{MPI.Get_library_version().strip()}, dpctl {dpctl.__version__}")
    place = f"{queue.sycl_device.name}, {theirs.get_usm_type()} memory at {address(theirs):#x}"
    for line in world.gather(f"rank {rank}: {place}\n        {arrived} from rank {peer}") or []:
        print(line)
    if rank == 0:
        print(f"{2 * SIZE:,} bytes crossed from device memory to device memory, and are the same.")


def address(memory: MemoryUSMDevice) -> int:
    """Return where memory lies: an address that is the device's, and that no CPU may touch."""
    return int(memory.__sycl_usm_array_interface__["data"][0])


def buffer(memory: MemoryUSMDevice) -> MPI.buffer:
    """Return memory in the form in which MPI takes it."""
    return MPI.buffer.fromaddress(address(memory), memory.nbytes)


def sha256(memory: MemoryUSMDevice) -> str:
    """Return the digest of what the device holds."""
    return hashlib.sha256(memory.copy_to_host()).hexdigest()


if __name__ == "__main__":
    main()
