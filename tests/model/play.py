"""The play: processes that do random things, each checked against the oracle at once.

A step is a function `(play, chance)`. It chooses what to do from what the oracle knows, has a
process do it, compares the answer with what the oracle says, and only then lets the oracle do it
too. The same steps run over processes and over the pair within one process: who plays is the cast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tests.model.oracle import Process, World
from tests.model.stores import content, digest, is_known, put, put_perhaps, settle, size_of
from tests.model.worker import Died

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from tests.harness.emulator_process import Audit
    from tests.model.stores import Piece

    Step: TypeAlias = Callable[["Play", random.Random], None]

T = TypeVar("T")
MOST_QUESTIONS = 9
"""A process that is to die in a call does so after one of its first questions."""


class Player(Protocol):
    """One process: does what it is told."""

    def do(self, function: str, *arguments: int | str) -> Any:  # noqa: ANN401 - JSON
        """Call a function of `Hands`; return its result or the name of its error.

        Raises:
            Died: the process ended instead.
        """
        ...

    def end(self) -> None:
        """Kill the process, if it is not dead yet; return when the device may know."""
        ...


class Cast(Protocol):
    """Where processes come from."""

    @property
    def is_apart(self) -> bool:
        """Whether each has descriptors and mappings of its own, which can be counted."""
        ...

    def start(self) -> Player:
        """Start a process."""
        ...

    def audit(self) -> Audit:
        """Check the device's invariants; return what it holds."""
        ...


class Play:
    """Processes, what the oracle thinks of them, and the last calls for whoever reads a failure."""

    def __init__(self, cast: Cast, count: int) -> None:
        self.cast = cast
        self.world = World()
        self.players: dict[Process, Player] = {}
        self.usage: dict[Process, dict[str, int]] = {}
        """What each process had when it began."""
        self.log: list[str] = []
        self.doomed: Process | None = None
        """The process that will die in its next call."""
        self.deaths = 0
        """Processes that died inside a call."""
        self._last = 0
        self.empty = cast.audit()
        """What the device held before."""
        for _ in range(count):
            self.enter()

    def enter(self) -> None:
        """Let a new process begin."""
        self._last += 1
        process, player = Process(self._last), self.cast.start()
        self.world.processes.append(process)
        self.players[process] = player
        self.usage[process] = player.do("usage")

    def leave(self, process: Process) -> None:
        """Have a process killed."""
        self.players.pop(process).end()
        self.world.bury(process)

    def do(self, process: Process, function: str, *arguments: int | str) -> Any:  # noqa: ANN401
        self.log.append(f"{process.number}: {function}{arguments}")
        answer = self.players[process].do(function, *arguments)
        self.log[-1] += f" -> {answer if not isinstance(answer, str) else answer[:80]}"
        return answer

    def expect(self, expected: str | None, process: Process, *call: int | str) -> bool:
        """Have a call made that answers nothing, or an error; return whether it succeeded."""
        found = self.do(process, str(call[0]), *call[1:])
        assert found == expected, f"{found}, expected {expected}"
        return expected is None

    def process(self, chance: random.Random) -> Process:
        """Return the process whose turn it is."""
        return self.doomed or chance.choice(self.world.processes)

    # --- bytes -----------------------------------------------------------------------------------

    def store(
        self, process: Process, call: tuple[int | str, ...], pieces: list[Piece], data: bytes
    ) -> None:
        """Have a call store `data`, of which `pieces` take as much as comes before a fault."""
        is_whole = size_of(pieces) == len(data)
        try:
            self.expect(None if is_whole else "DEVICE_LOST", process, *call)
        except Died:
            put_perhaps(pieces, data)
            raise
        if is_whole:
            put(pieces, data)
        else:
            put_perhaps(pieces, data)

    def compare(
        self, process: Process, pieces: list[Piece], start: int, size: int, *, by_cpu: bool = False
    ) -> None:
        """Read a range and compare it with what the oracle knows of `pieces`."""
        if size_of(pieces) < size:
            self.expect("DEVICE_LOST", process, "digest", start, size)
        elif not is_known(pieces):
            settle(
                pieces, bytes.fromhex(self.do(process, "peek" if by_cpu else "read", start, size))
            )
        else:
            found = self.do(process, "peek_digest" if by_cpu else "digest", start, size)
            assert found == digest(content(pieces)), f"{size:#x} bytes at {start:#x} are others"

    # --- life and death --------------------------------------------------------------------------

    def run(self, steps: Sequence[Step], chance: random.Random) -> None:
        """Take one of the steps."""
        self.take(chance.choice(steps), chance)

    def take(self, step: Step, chance: random.Random) -> None:
        """Take a step; a process that dies in it is buried, and another one begins."""
        self.log.append(step.__name__)
        try:
            step(self, chance)
        except Died:
            assert self.doomed is not None, "a process ended by itself"
            self.deaths += 1
            self.leave(self.doomed)
            self.enter()
        finally:
            self.doomed = None

    def doom(self, steps: Sequence[Step], chance: random.Random) -> None:
        """Kill a process after a random question of a random step, or right after that step."""
        self.doomed = process = chance.choice(self.world.processes)
        self.do(process, "arm", chance.randint(1, MOST_QUESTIONS))
        self.take(chance.choice(steps), chance)
        if process in self.players:
            self.leave(process)
            self.enter()


def some(chance: random.Random, things: Sequence[T]) -> T | None:
    """Return one of the things, mostly a young one; None when there are none."""
    if not things:
        return None
    recent = things[-4:] if chance.random() < 0.7 else things
    return chance.choice(recent)


def now_and_then(chance: random.Random, one_in: int = 8) -> bool:
    return chance.randrange(one_in) == 0
