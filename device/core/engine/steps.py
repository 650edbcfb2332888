"""What the engines say to the scheduler: why a command gives way, and what a queue does."""

from __future__ import annotations

from collections.abc import Generator
from enum import Enum, IntEnum, auto
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from device.core.engine.pools import FencePool
    from device.core.memory import Chunk


class Priority(IntEnum):
    """Share of the engines' turns that a queue gets (`QueueCreate.priority`)."""

    NORMAL = 0
    HIGH = 1
    LOW = 2


SHARES: Final = {Priority.LOW: 1, Priority.NORMAL: 2, Priority.HIGH: 4}
"""Turns of a queue, counted in commands and bytes, are proportional to these."""


class Activity(Enum):
    """What a queue does, as the scheduler sees it."""

    IDLE = auto()
    """Nothing was found in its ring; a doorbell makes it ready."""
    READY = auto()
    """It stands in line for a turn."""
    HOLDING = auto()
    """Its command waits for a fence slot."""
    DELAYED = auto()
    """Its command takes model time, or looks again later."""
    MOVING = auto()
    """Moves of its command are in flight or wait for an engine."""
    STOPPED = auto()
    """A fault stopped it; QUEUE_RESET makes it idle."""
    HUNG = auto()
    """It does not go on, and nobody was told; QUEUE_RESET makes it idle."""
    GONE = auto()
    """Removed, or lost with its device; nothing wakes it."""


class Hold(NamedTuple):
    """A command waits until a fence slot's value is at least `value`, or the fence is lost."""

    pool: FencePool
    slot: int
    value: int


class Later(NamedTuple):
    """A command looks again after some time."""

    ticks: int


class Move(NamedTuple):
    """A part of a large copy that the shell runs."""

    chunk: Chunk
    spans: tuple[range, ...]
    """Virtual addresses of the queue's space that it touches."""


class Next(Enum):
    """What a queue waits for after its turn, when it is not a command that gave way."""

    TURN = auto()
    """Its next turn: the ring held more than one turn's commands."""
    DOORBELL = auto()
    """More commands."""
    TIME = auto()
    """The end of the command in hand, `WorkQueue.clock`."""
    RESET = auto()
    """QUEUE_RESET: it stopped."""
    NEVER = auto()
    """QUEUE_RESET: it hangs."""


# The members that every turn meets, by names that are found at once: looking a member up in its
# enumeration takes 60 ns in Python 3.11.
IDLE: Final = Activity.IDLE
READY: Final = Activity.READY
DOORBELL: Final = Next.DOORBELL
RESET: Final = Next.RESET


class Quantum(NamedTuple):
    """How much one turn may do; the command that exceeds the bytes still runs."""

    commands: int
    bytes: int


Step: TypeAlias = Hold | Later | tuple[Move, ...]
"""Why a command that takes more than one step gives way: a fence, time, moves, others' turn."""
Job: TypeAlias = Generator[Step, None, None]
"""The rest of a command. It is resumed when the fence is reached or all its moves are done."""
Outcome: TypeAlias = Step | Next
"""How a turn ended."""
