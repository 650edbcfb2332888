"""The allocator of addresses, against a map of every page."""

import time

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hostdriver.core.vaspace import GRANULE, VaSpace, align_up

BASE = 0x10_0000
PAGES = 64


class VaMachine(RuleBasedStateMachine):
    """The oracle is one flag for every page of the arena."""

    def __init__(self) -> None:
        super().__init__()
        self.space = VaSpace(BASE, PAGES * GRANULE)
        self.taken = [False] * PAGES
        self.sizes: dict[int, int] = {}

    def places(self, pages: int, alignment: int) -> list[int]:
        """Return every address at which a request would fit."""
        starts = range(PAGES - pages + 1)
        free = [n for n in starts if not any(self.taken[n : n + pages])]
        return [va for n in free if not (va := BASE + n * GRANULE) % alignment]

    @rule(pages=st.integers(1, 20), shift=st.integers(0, 4), hint=st.integers(-1, PAGES - 1))
    def reserve(self, pages: int, shift: int, hint: int) -> None:
        alignment = GRANULE << shift
        wish = 0 if hint < 0 else BASE + hint * GRANULE
        is_free = wish and wish in self.places(pages, GRANULE)
        possible = [wish] if is_free else self.places(pages, alignment)

        va = self.space.reserve(pages * GRANULE, alignment, wish)

        if va is None:
            assert possible == []
            return
        assert va in possible
        first = (va - BASE) // GRANULE
        self.taken[first : first + pages] = [True] * pages
        self.sizes[va] = pages

    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        if not self.sizes:
            return
        va = data.draw(st.sampled_from(sorted(self.sizes)))
        pages = self.sizes.pop(va)

        assert self.space.free(va) == pages * GRANULE

        first = (va - BASE) // GRANULE
        self.taken[first : first + pages] = [False] * pages

    @invariant()
    def is_sound(self) -> None:
        self.space.check()
        statistics = self.space.statistics()
        assert statistics.free_bytes == self.taken.count(False) * GRANULE
        assert statistics.reservation_count == len(self.sizes)
        assert statistics.size_bytes == PAGES * GRANULE


TestVaSpace = VaMachine.TestCase


def test_freed_address_is_given_out_again() -> None:
    space = VaSpace(BASE, 1 << 20)
    first = space.reserve(GRANULE)
    space.reserve(GRANULE)
    assert first is not None
    space.free(first)

    assert space.reserve(GRANULE) == first


def test_neighbours_become_one_extent() -> None:
    space = VaSpace(BASE, 3 * GRANULE)
    places = [space.reserve(GRANULE) for _ in range(3)]
    for va in places:
        assert va is not None
        space.free(va)

    assert space.statistics().extent_count == 1
    assert space.reserve(3 * GRANULE) == BASE


@pytest.mark.parametrize(
    ("size", "alignment", "hint"),
    [(0, GRANULE, 0), (5, GRANULE, 0), (GRANULE, 3, 0), (GRANULE, 16, 0), (GRANULE, GRANULE, 7)],
)
def test_odd_requests_are_refused(size: int, alignment: int, hint: int) -> None:
    with pytest.raises(ValueError, match=r"granule|power of two"):
        VaSpace(BASE, 1 << 20).reserve(size, alignment, hint)


def test_an_empty_arena_is_refused() -> None:
    with pytest.raises(ValueError, match="granules"):
        VaSpace(BASE, 0)


def test_freeing_what_was_not_reserved_is_refused() -> None:
    with pytest.raises(KeyError):
        VaSpace(BASE, 1 << 20).free(BASE)


def test_badly_aligned_extents_do_not_hide_a_good_one() -> None:
    # Every second page is taken, so that the free ones stand at odd places; one good place is left.
    space = VaSpace(0, 512 * GRANULE)
    places = [space.reserve(GRANULE) for _ in range(512)]
    for va in places:
        if va is not None and va // GRANULE % 2:
            space.free(va)
    space.free(100 * GRANULE)

    assert space.reserve(2 * GRANULE, 2 * GRANULE) == 100 * GRANULE
    assert space.reserve(2 * GRANULE, 2 * GRANULE) is None


def test_many_reservations_stay_fast() -> None:
    space = VaSpace(0, 1 << 40)
    begin = time.process_time()
    places = [space.reserve(64 << 10, 64 << 10) for _ in range(20_000)]
    for va in places[::2]:
        assert va is not None
        space.free(va)
    for _ in range(10_000):
        assert space.reserve(64 << 10, 64 << 10) is not None

    # 50,000 operations take about 0.2 s; a search through all extents would take minutes.
    assert time.process_time() - begin < 5
    assert space.statistics().extent_count == 1


@pytest.mark.parametrize(("value", "expected"), [(0, 0), (1, 8), (8, 8), (9, 16)])
def test_align_up(value: int, expected: int) -> None:
    assert align_up(value, 8) == expected


@pytest.mark.parametrize("change", ["hole", "order", "end", "overlap"])
def test_check_finds_what_is_wrong(change: str) -> None:
    space = VaSpace(BASE, 8 * GRANULE)
    va = space.reserve(GRANULE)
    assert va is not None
    match change:
        case "hole":
            del space._sizes[va]
        case "order":
            space._by_size.append(space._by_size[0])
        case "end":
            space.size += GRANULE
        case _:
            space._sizes[va] = 2 * GRANULE

    with pytest.raises(AssertionError):
        space.check()
