"""The frame allocator and the memory over it against plain sets and dictionaries."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from device.core.errors import DeviceError
from device.core.memory import BuddyAllocator, Run
from firmware.abi.ids import PAGE_SIZE
from tests.harness.memory import LOCAL, at, frames_of, memory_of

COUNTS = st.one_of(st.integers(1, 8), st.integers(1, 400))
OWNERS = st.integers(1, 3)

Held: TypeAlias = tuple[int, list[int]]
"""An owner, and frames it was given."""


class AllocatorMachine(RuleBasedStateMachine):
    """The oracle is three sets of frames: free, used, retired."""

    held: Bundle[list[Run]] = Bundle("held")

    @initialize(frame_count=st.one_of(st.integers(1, 40), st.sampled_from([128, 255, 1000])))
    def make(self, frame_count: int) -> None:
        self.frames = BuddyAllocator(frame_count)
        self.free = set(range(frame_count))
        self.used = set[int]()
        self.retired = set[int]()
        self.leaving = set[int]()

    @rule(target=held, count=COUNTS, order=st.integers(0, 6))
    def allocate(self, count: int, order: int) -> list[Run]:
        if count > len(self.free):
            with pytest.raises(DeviceError) as refusal:
                self.frames.allocate(count, 1 << order)
            assert refusal.value.detail == len(self.free) * PAGE_SIZE
            return []
        runs = self.frames.allocate(count, 1 << order)
        taken = frames_of(runs)
        assert len(taken) == len(set(taken)) == count
        assert self.free.issuperset(taken)
        assert all(sum(first) != second.first for first, second in pairwise(runs))
        self.free.difference_update(taken)
        self.used.update(taken)
        return runs

    def give_back(self, runs: list[Run]) -> None:
        frames = set(frames_of(runs))
        retired = self.frames.free(runs)
        assert set(retired) == frames & self.leaving
        self.leaving -= frames
        self.retired.update(retired)
        self.used -= frames
        self.free |= frames.difference(retired)

    @rule(runs=consumes(held))
    def free_all(self, runs: list[Run]) -> None:
        self.give_back(runs)

    @rule(target=held, runs=consumes(held), data=st.data())
    def free_a_part(self, runs: list[Run], data: st.DataObject) -> list[Run]:
        frames = frames_of(runs)
        cut = data.draw(st.integers(0, len(frames)))
        self.give_back([Run(frame, 1) for frame in frames[:cut]])
        return [Run(frame, 1) for frame in frames[cut:]]

    @rule(target=held, runs=consumes(held))
    def free_every_second(self, runs: list[Run]) -> MultipleResults[list[Run]]:
        frames = frames_of(runs)
        self.give_back([Run(frame, 1) for frame in frames[::2]])
        return multiple(*([Run(frame, 1)] for frame in frames[1::2]))

    @rule(data=st.data())
    def retire(self, data: st.DataObject) -> None:
        frame = data.draw(st.integers(0, self.frames.frame_count - 1))
        done = self.frames.retire(frame)
        assert done == (frame not in self.used)
        if done:
            self.free.discard(frame)
            self.retired.add(frame)
        else:
            self.leaving.add(frame)

    @invariant()
    def counts_are_exact(self) -> None:
        self.frames.check()
        found = self.frames.statistics()
        assert found.free == self.frames.free_count == len(self.free)
        assert found.used == len(self.used)
        assert found.retired == self.frames.retired_count == len(self.retired)


class MemoryMachine(RuleBasedStateMachine):
    """The oracle knows the last writer and value of each frame, and what each owner may see."""

    held: Bundle[Held] = Bundle("held")

    @initialize(frame_count=st.integers(1, 48))
    def make(self, frame_count: int) -> None:
        self.memory = memory_of(frame_count)
        self.free = set(range(frame_count))
        self.owner: dict[int, int] = {}
        self.value = dict.fromkeys(range(frame_count), 0)
        """Last byte written all over each frame."""
        self.writer = dict.fromkeys(range(frame_count), 0)
        self.number = 0

    @rule(target=held, owner=OWNERS, count=st.integers(1, 12), order=st.integers(0, 2))
    def allocate(self, owner: int, count: int, order: int) -> MultipleResults[Held]:
        if count > len(self.free):
            with pytest.raises(DeviceError):
                self.memory.allocate(count * PAGE_SIZE, owner)
            return multiple()
        frames = frames_of(self.memory.allocate(count * PAGE_SIZE, owner, PAGE_SIZE << order))
        assert self.free.issuperset(frames)
        self.free.difference_update(frames)
        for frame in frames:
            self.owner[frame] = owner
            if self.writer[frame] != owner:
                self.value[frame] = 0
                self.writer[frame] = owner
        return multiple((owner, frames))

    @rule(held=held, data=st.data())
    def write(self, held: Held, data: st.DataObject) -> None:
        frame = data.draw(st.sampled_from(held[1]))
        self.number = self.number % 255 + 1
        self.value[frame] = self.number
        self.memory.fill(at(frame * PAGE_SIZE, PAGE_SIZE), bytes([self.number]))

    @rule(held=consumes(held))
    def free_all(self, held: Held) -> None:
        self.memory.free([Run(frame, 1) for frame in held[1]])
        for frame in held[1]:
            del self.owner[frame]
        self.free.update(held[1])

    @rule(budget=st.integers(0, 8 * PAGE_SIZE))
    def scrub(self, budget: int) -> None:
        dirty = {frame for frame in self.free if self.value[frame]}
        before = {frame for frame in self.free if self.content(frame)}

        done = self.memory.scrub_some(budget) // PAGE_SIZE

        after = {frame for frame in self.free if self.content(frame)}
        assert done == min(budget // PAGE_SIZE, len(dirty)) == len(before - after)
        assert after <= before == dirty
        for frame in before - after:
            self.value[frame] = 0

    @rule(held=consumes(held), data=st.data())
    def poison(self, held: Held, data: st.DataObject) -> None:
        frame = data.draw(st.sampled_from(held[1]))
        retired = self.memory.retired_frames
        self.memory.inject_poison(frame * PAGE_SIZE)
        self.free_all(held)
        self.free.discard(frame)
        assert self.memory.retired_frames == retired + 1

    def content(self, frame: int) -> int:
        """Return the byte all over a frame."""
        found = set(self.memory.view[frame * PAGE_SIZE :][:PAGE_SIZE].tobytes())
        assert len(found) == 1
        return found.pop()

    @invariant()
    def owners_see_zeros_or_their_own(self) -> None:
        self.memory.check()
        assert self.memory.free_bytes == len(self.free) * PAGE_SIZE
        for frame in self.owner:
            assert self.memory.read(LOCAL, frame * PAGE_SIZE, 1)[0] == self.value[frame]
            assert self.content(frame) == self.value[frame]


TestAllocator = AllocatorMachine.TestCase
TestAllocator.settings = settings(stateful_step_count=40)
TestMemory = MemoryMachine.TestCase
TestMemory.settings = settings(stateful_step_count=30)
