"""Where addresses come from: the arena, the wished place, else the system."""

import pytest

from hostdriver.core.addresses import Place, give_addresses, take_addresses
from hostdriver.core.questions import Release, Reserve
from tests.harness.fake_session import ARENA, OUTSIDE, FakeSession

SIZE = 1 << 20
PAGE = 1 << 16


def test_arena_costs_no_question() -> None:
    session = FakeSession()
    state = session.state()

    place = session.run(take_addresses(state, SIZE, PAGE))

    assert place == Place(ARENA[0], SIZE, in_arena=True)
    session.run(give_addresses(state, place))
    assert session.asked == []
    assert state.arena is not None
    assert state.arena.statistics().free_bytes == ARENA[1]


def test_wished_place_in_the_arena_is_given_when_free() -> None:
    session = FakeSession()
    state = session.state()
    wish = ARENA[0] + 8 * SIZE

    assert session.run(take_addresses(state, SIZE, PAGE, wish)) == Place(wish, SIZE, in_arena=True)
    other = session.run(take_addresses(state, SIZE, PAGE, wish))
    assert other is not None
    assert other.va != wish
    assert session.asked == []


def test_wished_place_outside_is_asked_for_there_only() -> None:
    session = FakeSession()
    state = session.state()

    place = session.run(take_addresses(state, SIZE, PAGE, 0x7FFF_0000))

    assert place == Place(0x7FFF_0000, SIZE, in_arena=False)
    assert session.asked == [Reserve(SIZE, 0x7FFF_0000, PAGE)]
    session.run(give_addresses(state, place))
    assert session.asked[-1] == Release(0x7FFF_0000, SIZE)


@pytest.mark.case("V08")
def test_wished_place_that_is_taken_falls_back_to_the_arena() -> None:
    session = FakeSession()
    state = session.state()
    session.script(Reserve, None)

    place = session.run(take_addresses(state, SIZE, PAGE, 0x7FFF_0000))

    assert place is not None
    assert place.in_arena


@pytest.mark.parametrize("arena", [True, False])
def test_more_than_the_arena_has_comes_from_the_system(arena: bool) -> None:
    session = FakeSession()
    state = session.state(has_arena=arena)
    size = 2 * ARENA[1] if arena else SIZE
    session.script(Reserve, OUTSIDE[0])

    assert session.run(take_addresses(state, size, PAGE)) == Place(OUTSIDE[0], size, in_arena=False)


def test_none_when_the_system_has_none_either() -> None:
    session = FakeSession()
    state = session.state()
    session.script(Reserve, None)

    assert session.run(take_addresses(state, 2 * ARENA[1], PAGE)) is None
