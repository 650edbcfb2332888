"""Large leaves: gigabytes mapped, cut and protected, against a list of runs."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from device.core.errors import DeviceError
from device.core.paging import PageTables, walk
from firmware.abi.ids import PAGE_SIZE, Rights
from firmware.abi.paging import RIGHTS_MASK, RIGHTS_SHIFT, Pte
from firmware.abi.status import Status
from tests.harness.memory import memory_of
from tests.harness.paging import ALL_SIZES, GIB, KIB, MIB, SIZE_SETS, attempt, bus, null

if TYPE_CHECKING:
    from firmware.abi.ids import PageSizes

pytestmark = pytest.mark.timeout(600)  # a minute of thorough examples, more beside others
FRAMES = 1500
LAST = 1 << 36
EDGES = [0, 64 * KIB, 2 * MIB, GIB, 2 * GIB, 3 * GIB, 1 << 39, 1 << 47]
PAGES = st.builds(
    lambda edge, more, pages: min(max(edge + more, 0) // PAGE_SIZE + pages, LAST - 1),
    st.sampled_from(EDGES),
    st.sampled_from([0, 64 * KIB, 2 * MIB, -64 * KIB, -2 * MIB, 512 * MIB]),
    st.integers(-2, 2).filter(lambda pages: pages >= 0),
)
COUNTS = st.one_of(
    st.integers(1, 40),
    st.sampled_from([2 * MIB, 4 * MIB, GIB - 2 * MIB, GIB, 2 * GIB + 64 * KIB, 1 << 40]).map(
        lambda size: size // PAGE_SIZE
    ),
)
RIGHTS = st.sampled_from([Rights.NONE, Rights.READ, Rights(3)])

Run = tuple[int, int, int]
"""First page, page behind the last, entry of the first page."""


def step(entry: int) -> int:
    """Return how far apart the entries of neighbouring pages are."""
    return 0 if Pte(entry).null else PAGE_SIZE


class Runs:
    """What is mapped, in plain Python, whatever its size."""

    def __init__(self) -> None:
        self.runs: list[Run] = []

    def cut(self, start: int, stop: int) -> tuple[list[Run], list[Run]]:
        """Return the runs outside and inside of a range."""
        outside: list[Run] = []
        inside: list[Run] = []
        for low, high, entry in self.runs:
            bounds = (low, min(max(start, low), high), max(min(stop, high), low), high)
            for number, (begin, end) in enumerate(pairwise(bounds)):
                if begin < end:
                    part = (begin, end, entry + (begin - low) * step(entry))
                    (inside if number == 1 else outside).append(part)
        return outside, inside

    def joined(self) -> list[Run]:
        """Return the runs with those joined that continue each other."""
        done: list[Run] = []
        for run in sorted(self.runs):
            if done and done[-1][1] == run[0]:
                start, stop, entry = done[-1]
                if entry + (stop - start) * step(entry) == run[2]:
                    done[-1] = (start, run[1], entry)
                    continue
            done.append(run)
        return done

    def hole(self, start: int, stop: int) -> int | None:
        for low, high, _ in sorted(self.cut(start, stop)[1]):
            if low > start:
                break
            start = high
        return start if start < stop else None


class LargeMachine(RuleBasedStateMachine):
    """Every request may need memory for tables that is not there; then nothing changes."""

    @initialize(page_sizes=st.sampled_from([ALL_SIZES, ALL_SIZES, SIZE_SETS[2]]))
    def make(self, page_sizes: PageSizes) -> None:
        self.memory = memory_of(FRAMES)
        self.tables = PageTables(self.memory, page_sizes)
        self.oracle = Runs()

    @rule(
        start=PAGES,
        count=COUNTS,
        kind=st.sampled_from(["null", "fitting", "shifted"]),
        rights=RIGHTS,
    )
    def map(self, start: int, count: int, kind: str, rights: Rights) -> None:
        count = min(count, LAST - start)
        va, size = start * PAGE_SIZE, count * PAGE_SIZE
        if kind == "null":
            entry = null(rights)
        else:
            entry = bus(va % GIB + (0 if kind == "fitting" else 2 * MIB), rights)
        there = self.oracle.cut(start, start + count)[1]

        answer = attempt(partial(self.tables.map_one, va, size, entry))

        if isinstance(answer, DeviceError):
            if there:
                first = min(there)[0] * PAGE_SIZE
                assert (answer.status, answer.detail) == (Status.OVERLAP, first)
            else:
                assert answer.status is Status.OUT_OF_DEVICE_MEMORY
            return
        assert not there
        assert answer == count
        self.oracle.runs.append((start, start + count, entry))

    @rule(start=PAGES, count=COUNTS)
    def unmap(self, start: int, count: int) -> None:
        count = min(count, LAST - start)
        outside, inside = self.oracle.cut(start, start + count)

        answer = attempt(partial(self.tables.unmap, start * PAGE_SIZE, count * PAGE_SIZE))

        if isinstance(answer, DeviceError):
            assert answer.status is Status.OUT_OF_DEVICE_MEMORY
            return
        assert answer == sum(high - low for low, high, _ in inside)
        self.oracle.runs = outside

    @rule(start=PAGES, count=COUNTS, rights=RIGHTS)
    def protect(self, start: int, count: int, rights: Rights) -> None:
        count = min(count, LAST - start)
        outside, inside = self.oracle.cut(start, start + count)
        hole = self.oracle.hole(start, start + count)

        request = partial(self.tables.protect, start * PAGE_SIZE, count * PAGE_SIZE, rights)
        answer = attempt(request)

        if isinstance(answer, DeviceError):
            if hole is None:
                assert answer.status is Status.OUT_OF_DEVICE_MEMORY
            else:
                assert (answer.status, answer.detail) == (Status.NOT_MAPPED, hole * PAGE_SIZE)
            return
        assert hole is None
        bits = int(rights) << RIGHTS_SHIFT
        self.oracle.runs = outside + [
            (low, high, entry & ~RIGHTS_MASK | bits) for low, high, entry in inside
        ]

    @rule(start=PAGES, count=COUNTS)
    def look(self, start: int, count: int) -> None:
        count = min(count, LAST - start)
        inside = self.oracle.cut(start, start + count)[1]
        hole = self.oracle.hole(start, start + count)
        size = count * PAGE_SIZE

        mapped = self.tables.first_mapped(start * PAGE_SIZE, size)

        assert mapped == (min(inside)[0] * PAGE_SIZE if inside else None)
        found = self.tables.first_hole(start * PAGE_SIZE, size)
        assert found == (None if hole is None else hole * PAGE_SIZE)

    @invariant()
    def tables_are_sound(self) -> None:
        self.tables.check()
        self.memory.check()
        tables = self.tables.table_count * PAGE_SIZE
        assert self.memory.free_bytes == FRAMES * PAGE_SIZE - tables

    @invariant()
    def query_and_walks_tell_the_same_runs(self) -> None:
        joined = self.oracle.joined()
        found = self.tables.query(0, LAST * PAGE_SIZE, 1000)
        assert found.total == len(joined) == len(found.extents)
        for extent, (low, high, entry) in zip(found.extents, joined, strict=True):
            assert (extent.va, extent.size_bytes) == (low * PAGE_SIZE, (high - low) * PAGE_SIZE)
            assert int(extent.rights) == (entry & RIGHTS_MASK) >> RIGHTS_SHIFT
            assert (extent.aperture == 0xFFFF) == Pte(entry).null
            for page in (low, high - 1):
                expected = entry + (page - low) * step(entry)
                assert walk(self.memory, self.tables.root, page * PAGE_SIZE).page == expected


TestLarge = LargeMachine.TestCase
TestLarge.settings = settings(stateful_step_count=30)
