"""Runs real code in every interleaving that processors with store buffers can show.

Each thread is a function that works on a `ScriptedMemory`. A run of it is stopped at the first
operation that has no answer yet; to go on, it is run again from its start with one answer more. So
code that knows nothing of the model is stepped operation by operation, and each state is reached
again as often as needed.

The model is that of x86: a store goes into the processor's buffer and reaches memory later, in
order; a load sees the own buffer first, then memory; a fence, and whatever enters the kernel, waits
until the own buffer is empty. A futex wait compares and falls asleep in one step.

INVARIANT under test: in every state in which nobody can go on, everybody has finished. Otherwise
somebody sleeps, and nobody will wake him: a lost wake-up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

if TYPE_CHECKING:
    from firmware.link.words import Words

U32_MASK = 0xFFFF_FFFF
Value: TypeAlias = int | bytes | bool | None


class Store(NamedTuple):
    place: int
    value: int | bytes


class Load(NamedTuple):
    place: int


class Fence(NamedTuple):
    kind: str = "fence"


class Ring(NamedTuple):
    bell: str


class Clear(NamedTuple):
    bell_to_clear: str


class AwaitBell(NamedTuple):
    awaited: str
    kind: str = "await"


class FutexWait(NamedTuple):
    place: int
    expected: int


class FutexWake(NamedTuple):
    woken: int
    kind: str = "wake"


Operation: TypeAlias = Store | Load | Fence | Ring | Clear | AwaitBell | FutexWait | FutexWake


class Pause(BaseException):
    """Stops a run at an operation that has no answer yet."""

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation)
        self.operation = operation


class ScriptedMemory:
    """What a thread sees: memory, fence, bell and futex with the answers given so far."""

    def __init__(self, answers: tuple[Value, ...]) -> None:
        self._answers = answers
        self._position = 0
        self._paused = False

    def do(self, operation: Operation) -> Value:
        """Return the answer to an operation, or stop the run at it."""
        if self._paused:  # the code under test cleans up on its way out
            return 0
        if self._position == len(self._answers):
            self._paused = True
            raise Pause(operation)
        self._position += 1
        return self._answers[self._position - 1]

    def words(self) -> Words:
        """Return what the code under test takes for shared memory."""
        return cast("Words", ScriptedWords(self))

    def fence(self) -> None:
        self.do(Fence())

    def no_fence(self) -> None:
        """Stand in for a fence that was forgotten."""

    def await_bell(self, bell: str) -> None:
        self.do(AwaitBell(bell))

    def futex_wait(self, address: int, expected: int, timeout_seconds: float) -> bool:
        return bool(self.do(FutexWait(address, expected)))

    def futex_wake(self, address: int) -> int:
        self.do(FutexWake(address))
        return 0


class ScriptedBell:
    """A bell as the code under test sees it."""

    def __init__(self, memory: ScriptedMemory, name: str) -> None:
        self._memory = memory
        self._name = name

    def ring(self) -> None:
        self._memory.do(Ring(self._name))

    def clear(self) -> bool:
        return bool(self._memory.do(Clear(self._name)))

    def fileno(self) -> None:
        return None

    def close(self) -> None:
        return None


class ScriptedWords:
    """The part of `Words` that the code under test uses."""

    def __init__(self, memory: ScriptedMemory) -> None:
        self.u8 = ScriptedBytes(memory)
        self.u32 = ScriptedArray(memory, 4)
        self.u64 = ScriptedArray(memory, 8)


class ScriptedArray:
    """Words of one width; a place is known by its byte offset."""

    def __init__(self, memory: ScriptedMemory, width: int) -> None:
        self._memory = memory
        self._width = width

    def __getitem__(self, index: int) -> int:
        return int(self._memory.do(Load(index * self._width)) or 0)

    def __setitem__(self, index: int, value: int) -> None:
        self._memory.do(Store(index * self._width, int(value)))


class ScriptedBytes:
    """Byte strings, each known by its first offset."""

    def __init__(self, memory: ScriptedMemory) -> None:
        self._memory = memory

    def __getitem__(self, part: slice) -> ScriptedView:
        return ScriptedView(self._memory, part)

    def __setitem__(self, part: slice, value: bytes) -> None:
        self._memory.do(Store(part.start, bytes(value)))


class ScriptedView:
    def __init__(self, memory: ScriptedMemory, part: slice) -> None:
        self._memory = memory
        self._part = part

    def tobytes(self) -> bytes:
        found = self._memory.do(Load(self._part.start))
        return found if isinstance(found, bytes) else bytes(self._part.stop - self._part.start)


Program: TypeAlias = Callable[[ScriptedMemory], None]


@dataclass(frozen=True)
class Thread:
    """One thread: what it was answered, what its processor has not stored yet, where it sleeps."""

    answers: tuple[Value, ...] = ()
    buffer: tuple[Store, ...] = ()
    asleep_on: int | None = None

    def answered(self, answer: Value) -> Thread:
        return replace(self, answers=(*self.answers, answer))


@dataclass(frozen=True)
class State:
    """Everything at one moment."""

    threads: tuple[Thread, ...]
    memory: tuple[tuple[int, int | bytes], ...] = ()
    rung: frozenset[str] = frozenset()

    def load(self, place: int, thread: Thread) -> int | bytes:
        for store in reversed(thread.buffer):
            if store.place == place:
                return store.value
        return dict(self.memory).get(place, 0)

    def with_thread(self, index: int, thread: Thread) -> State:
        threads = (*self.threads[:index], thread, *self.threads[index + 1 :])
        return replace(self, threads=threads)

    def drained(self, index: int) -> State:
        """Let the oldest store of a processor reach memory."""
        thread = self.threads[index]
        memory = dict(self.memory)
        memory[thread.buffer[0].place] = thread.buffer[0].value
        state = replace(self, memory=tuple(sorted(memory.items(), key=lambda item: item[0])))
        return state.with_thread(index, replace(thread, buffer=thread.buffer[1:]))


@dataclass(frozen=True)
class Exploration:
    """What was found."""

    states: int
    endings: frozenset[bool]
    """Whether everybody had finished, for each state in which nobody could go on."""

    @property
    def lost_wake_up(self) -> bool:
        return False in self.endings


def explore(*programs: Program, memory: dict[int, int] | None = None) -> Exploration:
    """Run the programs against each other in every possible way."""

    @cache
    def next_operation(index: int, answers: tuple[Value, ...]) -> Operation | None:
        try:
            programs[index](ScriptedMemory(answers))
        except Pause as pause:
            return pause.operation
        return None

    start = State(tuple(Thread() for _ in programs), tuple(sorted((memory or {}).items())))
    seen = {start}
    waiting = [start]
    endings: set[bool] = set()
    while waiting:
        state = waiting.pop()
        operations = [
            next_operation(index, thread.answers) for index, thread in enumerate(state.threads)
        ]
        followers = [
            follower
            for index, operation in enumerate(operations)
            for follower in step(state, index, operation)
        ]
        if not followers:
            endings.add(all(operation is None for operation in operations))
        fresh = [follower for follower in followers if follower not in seen]
        seen.update(fresh)
        waiting.extend(fresh)
    return Exploration(len(seen), frozenset(endings))


def step(state: State, index: int, operation: Operation | None) -> list[State]:
    """Return the states that one processor can lead to by its next move."""
    thread = state.threads[index]
    followers = [state.drained(index)] if thread.buffer else []
    if operation is None or thread.asleep_on is not None:
        return followers
    match operation:
        case Store():
            stored = replace(thread, buffer=(*thread.buffer, operation))
            followers.append(state.with_thread(index, stored.answered(None)))
        case Load(place):
            followers.append(state.with_thread(index, thread.answered(state.load(place, thread))))
        case _ if not thread.buffer:
            follower = _in_kernel(state, index, operation)
            followers += [follower] if follower is not None else []
        case _:
            pass
    return followers


def _in_kernel(state: State, index: int, operation: Operation) -> State | None:
    """Return the state after an operation that needs an empty buffer; None while it waits."""
    thread = state.threads[index]
    match operation:
        case Ring(bell):
            rung = replace(state, rung=state.rung | {bell})
            return rung.with_thread(index, thread.answered(None))
        case Clear(bell):
            cleared = replace(state, rung=state.rung - {bell})
            return cleared.with_thread(index, thread.answered(bell in state.rung))
        case AwaitBell(bell) if bell not in state.rung:
            return None
        case FutexWait(place, expected):
            if int(state.load(place, thread)) & U32_MASK != expected:
                return state.with_thread(index, thread.answered(True))
            return state.with_thread(index, replace(thread, asleep_on=place))
        case FutexWake(place):
            woken = state.with_thread(index, thread.answered(None))
            for other, sleeper in enumerate(woken.threads):
                if sleeper.asleep_on == place:
                    awake = replace(sleeper, asleep_on=None).answered(True)
                    woken = woken.with_thread(other, awake)
            return woken
        case _:
            return state.with_thread(index, thread.answered(None))
