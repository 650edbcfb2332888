"""The processes of the model: each has one driver and does what the test tells it, line by line.

A nursery imports everything once and forks a worker for each process that is wanted. Test and
worker talk over a socket; the worker's pidfd tells the test that it has really ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

from hostdriver import levelzero as ze
from hostdriver.core.lanes import HALF
from tests.harness.children import child, hear, say
from tests.harness.ze_program import Actions
from tests.model.stores import digest

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

WARM_UP = 64 << 10
STAGE = 2 * HALF
"""Bytes of a lane's staging memory."""


class Died(Exception):
    """The worker ended in the middle of a call."""


class Hands(Actions):
    """What a process of the model can do."""

    def __init__(self, driver: ze.Driver) -> None:
        super().__init__(driver)
        self.runner, self.state = driver._process.current()[1:]
        # Queue and staging memory of the driver are there from now on.
        va = self.reserve(WARM_UP)
        self.map(va, WARM_UP, self.make(WARM_UP), 0)
        self.write(va, b"warm".hex())
        self.free(va, WARM_UP)
        self.destroy(0)

    def obtain(self, kind: str, size: int) -> int:
        context = self.context
        if kind == "device":
            return context.mem_alloc_device(self.device, size)
        if kind == "host":
            return context.mem_alloc_host(size)
        return context.mem_alloc_shared(size, 0, self.device)

    def free_memory(self, pointer: int) -> None:
        self.context.mem_free(pointer)

    def reserve_at(self, size: int, start: int) -> int:
        return self.context.virtual_mem_reserve(size, start)

    def map_as(self, va: int, size: int, number: int, offset: int, access: int) -> None:
        self.context.virtual_mem_map(va, size, self.objects[number], offset, access)

    def set_access(self, va: int, size: int, access: int) -> None:
        self.context.virtual_mem_set_access_attribute(va, size, access)

    def get_access(self, va: int, size: int) -> list[int]:
        return [int(value) for value in self.context.virtual_mem_get_access_attribute(va, size)]

    def write_noise(self, va: int, size: int, seed: int) -> None:
        self.context.memory_write(va, random.Random(seed).randbytes(size))

    def poke_noise(self, va: int, size: int, seed: int) -> None:
        self.context.host_view(va, size)[:] = random.Random(seed).randbytes(size)

    def copy(self, to: int, source: int, size: int) -> None:
        self.context.memory_copy(to, source, size)

    def digest(self, va: int, size: int) -> str:
        return digest(self.context.memory_read(va, size))

    def peek_digest(self, va: int, size: int) -> str:
        return digest(bytes(self.context.host_view(va, size)))

    def usage(self) -> dict[str, int]:
        """Run the driver's invariants; return how many things of each kind the process has."""
        state = self.state
        state.check()
        assert state.arena is not None
        lanes = state.devices[0].lanes
        stages = sum(lane.stage is not None for lane in lanes.idle)
        return {
            "lanes": lanes.count,
            "stages": stages,
            "reservations": len(state.reservations),
            "mappings": len(state.mappings),
            "allocations": len(state.allocations),
            "openings": len(state.imports),
            "handles": len(state.exports),
            "objects": len(state.physical),
            "addresses": state.arena.statistics().reservation_count - stages,
            "free_addresses": state.arena.statistics().free_bytes + stages * STAGE,
            "descriptors": self.descriptors(),
            "mapped_bytes": mapped_bytes() - stages * STAGE,
            "outside": len(self.runner.space._outside),
        }

    def arm(self, count: int) -> None:
        """Die when as many questions of the driver have been answered from now on; 0: live."""
        left = count

        def hear_question(question: object, answer: object) -> None:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

        self.runner.observer = hear_question if count else None


def mapped_bytes() -> int:
    """Return how many bytes of memory files this process has mapped."""
    total = 0
    with open("/proc/self/maps", encoding="ascii") as file:  # noqa: PTH123 - quick
        for line in file:
            if "memfd:emuzero" in line:
                start, _, end = line.split(" ", 1)[0].partition("-")
                total += int(end, 16) - int(start, 16)
    return total


def answer(hands: Hands, function: str, arguments: list[Any]) -> Any:  # noqa: ANN401 - JSON
    """Call a function; return its result, or the name of its error."""
    try:
        return getattr(hands, function)(*arguments)
    except ze.ZeError as error:
        return error.result.name.removeprefix("ZE_RESULT_ERROR_")


class Worker:
    """A worker, seen from the test."""

    def __init__(self, connection: socket.socket, pid: int) -> None:
        self.pid = pid
        self._pidfd = os.pidfd_open(pid)
        self._connection = connection
        self._file = connection.makefile("rw", encoding="ascii")
        assert self._file.readline() == "ready\n"

    def do(self, function: str, *arguments: int | str) -> Any:  # noqa: ANN401 - JSON
        """Have a function called; return its result, or the name of its error.

        Raises:
            Died: the worker ended instead of answering.
        """
        self.begin(function, *arguments)
        try:
            line = self._file.readline()
        except ConnectionResetError:
            line = ""
        if not line:
            self.wait()
            raise Died
        return json.loads(line)

    def begin(self, function: str, *arguments: int | str) -> None:
        """Have a function called, and do not wait for it."""
        self._file.write(json.dumps([function, arguments]) + "\n")
        self._file.flush()

    def end(self) -> None:
        """Kill the worker, if it is not dead yet; a second call does nothing.

        It has ended then, with all that the kernel closes for it.
        """
        if self._connection.fileno() < 0:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        self.wait()
        self._file.close()
        self._connection.close()
        os.close(self._pidfd)

    def wait(self) -> None:
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        assert poll.poll(30_000), f"worker {self.pid} did not end"


class Nursery:
    """Where workers come from."""

    def __init__(self, connection: socket.socket, path: Path) -> None:
        self._connection = connection
        self._path = path
        self.workers: list[Worker] = []

    def start(self) -> Worker:
        mine, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._connection, [str(self._path).encode()], [theirs.fileno()])
        worker = Worker(mine, int(self._connection.recv(32)))
        self.workers.append(worker)
        return worker


@contextlib.contextmanager
def nursery(path: Path) -> Generator[Nursery]:
    """Run a nursery whose workers attach to the emulator at `path`; they end with it."""
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    number = theirs.fileno()
    with (
        mine,
        theirs,
        child("tests.model.worker", "breed", number, pass_fds=(number,)) as process,
    ):
        assert process.hear() == "ready"
        bred = Nursery(mine, path)
        try:
            yield bred
        finally:
            for worker in bred.workers:
                worker.end()


def breed(number: str) -> None:
    """Fork a worker for each message, until the test closes its input."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    connection = socket.socket(fileno=int(number))
    say("ready")
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    poll.register(sys.stdin, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if sys.stdin.fileno() in ready and not hear():
            return
        path, descriptors, _, _ = socket.recv_fds(connection, 4096, 1)
        if not path:
            return
        pid = os.fork()
        if not pid:
            connection.close()
            status = 1
            try:
                work(path.decode(), socket.socket(fileno=descriptors[0]))
                status = 0
            finally:
                os._exit(status)
        os.close(descriptors[0])
        connection.send(str(pid).encode())


def work(path: str, connection: socket.socket) -> None:
    """Be a worker."""
    file = connection.makefile("rw", encoding="ascii")
    with ze.connect(path, name="model", start=None) as driver:
        hands = Hands(driver)
        file.write("ready\n")
        file.flush()
        for line in file:
            function, arguments = json.loads(line)
            file.write(json.dumps(answer(hands, function, arguments)) + "\n")
            file.flush()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
