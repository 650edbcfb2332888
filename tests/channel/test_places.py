"""The table of places: at every moment it says what the driver would."""

import random
from collections.abc import Callable, Generator, Iterator

import pytest

from firmware.abi.channel import (
    CHANNEL_PLACES,
    CHANNEL_PLACES_OFFSET,
    Place,
    PlaceKind,
    PlacesHeader,
)
from firmware.link.segment import Segment
from hostdriver import levelzero as ze
from hostdriver.api.described import Described, get_alloc_properties
from hostdriver.api.memory import get_address_range
from hostdriver.channel import places as module
from hostdriver.channel.names import Names
from hostdriver.channel.places import Places
from hostdriver.channel.seen import devices_of
from hostdriver.channel.slots import CHANNEL_SIZE
from hostdriver.channel.streamrows import StreamRows
from hostdriver.core.results import ZeError
from hostdriver.core.state import DriverState
from hostdriver.testing.pair import Pair, pair

PAGE = 64 << 10
ROUNDS = 150


@pytest.fixture(name="world", params=["spec", "intel"])
def make_world(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with pair(profile=request.param) as made:
        yield made


@pytest.fixture(name="segment")
def make_segment() -> Generator[Segment]:
    segment = Segment.in_process(CHANNEL_SIZE)
    yield segment
    segment.close()


class Follower:
    """A driver's state, and the table that follows it."""

    def __init__(self, world: Pair, segment: Segment) -> None:
        self.segment = segment
        self.state = world.driver.look(lambda state: state)
        self.names = Names(StreamRows(segment.words))
        self.names.begin(devices_of(self.state))
        self.places = Places(segment)
        self.places.begin(self.state)

    def header(self) -> PlacesHeader:
        header = PlacesHeader.unpack(self.segment.view, CHANNEL_PLACES_OFFSET)
        assert isinstance(header, PlacesHeader)
        assert header.turn % 2 == 0
        return header

    def entries(self) -> list[Place]:
        first = CHANNEL_PLACES_OFFSET + PlacesHeader.SIZE
        found: list[Place] = []
        for index in range(self.header().count):
            entry = Place.unpack(self.segment.view, first + index * Place.SIZE)
            assert isinstance(entry, Place)
            found.append(entry)
        return found

    def follow(self) -> None:
        self.places.follow(self.state, self.names, None)

    def check(self, pointer: int) -> None:
        """Compare what table and driver say of a pointer."""
        holding = [e for e in self.entries() if e.start <= pointer < e.start + e.size]
        told = get_alloc_properties(self.state, pointer)
        try:
            base, size = get_address_range(self.state, pointer)
        except ZeError:
            assert holding == [], hex(pointer)
            assert told.type is ze.MemoryType.UNKNOWN
            return
        (entry,) = holding
        assert (entry.start, entry.size, entry.type) == (base, size, told.type), hex(pointer)
        assert (entry.id, entry.page_size) == (told.id, told.page_size)
        assert entry.device == self.names.number_of(told.device)


def test_the_table_says_what_the_driver_does_whatever_comes_and_goes(
    world: Pair, segment: Segment, chance: random.Random
) -> None:
    (device, *_) = world.driver.devices
    follower = Follower(world, segment)
    undo: list[Callable[[], None]] = []
    asked = [1, 1 << 40, (1 << 47) - 1]

    with world.driver.create_context() as context:

        def allocate() -> int:
            size = chance.randrange(1, 3 * PAGE)
            pointer = chance.choice(
                (
                    lambda: context.mem_alloc_device(device, size),
                    lambda: context.mem_alloc_host(size),
                    lambda: context.mem_alloc_shared(size, device=device),
                )
            )()
            undo.append(lambda: context.mem_free(pointer))
            return pointer

        def open_one() -> int:
            source = context.mem_alloc_host(chance.randrange(1, PAGE))
            handle = context.mem_get_ipc_handle(source)
            pointer = context.mem_open_ipc_handle(device, handle)
            context.mem_free(source)
            undo.append(lambda: context.mem_close_ipc_handle(pointer))
            return pointer

        def map_one() -> int:
            start = context.virtual_mem_reserve(4 * PAGE)
            physical = context.physical_mem_create(device, ze.PhysicalMemDesc(PAGE))
            at = start + chance.randrange(4) * PAGE
            context.virtual_mem_map(at, PAGE, physical)

            def take_back() -> None:
                context.virtual_mem_free(start, 4 * PAGE)
                context.physical_mem_destroy(physical)

            undo.append(take_back)
            return at

        for _ in range(ROUNDS):
            if undo and chance.random() < 0.45:
                undo.pop(chance.randrange(len(undo)))()
            else:
                pointer = chance.choice((allocate, open_one, map_one))()
                asked += [pointer + off for off in (-1, 0, 1, PAGE - 1, PAGE, 4 * PAGE)]
            follower.follow()
            for each in chance.sample(asked, min(len(asked), 40)):
                follower.check(each)
        for take_back in undo:
            take_back()
        follower.follow()
        assert all(entry.kind == PlaceKind.ALLOCATED for entry in follower.entries())


def test_more_than_the_table_holds_is_the_driver_s_to_say_until_less_is_there(
    segment: Segment, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert CHANNEL_PLACES > 1000
    monkeypatch.setattr(module, "CHANNEL_PLACES", 3)
    with pair() as world, world.driver.create_context() as context:
        follower = Follower(world, segment)
        pointers: list[int] = []
        for _ in range(4):
            pointers.append(context.mem_alloc_host(1))
            follower.follow()

        assert follower.header().is_kept == 0
        context.mem_free(pointers.pop())
        follower.follow()

        assert follower.header().is_kept == 1
        for pointer in pointers:
            follower.check(pointer)
            context.mem_free(pointer)


def test_a_table_that_begins_anew_costs_each_call_little(
    segment: Segment, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, step = 40, 8
    monkeypatch.setattr(module, "CHANNEL_PLACES", room)
    monkeypatch.setattr(module, "_STEP", step)
    looked: list[int] = []

    def look(state: DriverState, pointer: int) -> Described:
        looked.append(pointer)
        return get_alloc_properties(state, pointer)

    monkeypatch.setattr(module, "get_alloc_properties", look)
    with pair() as world, world.driver.create_context() as context:
        follower = Follower(world, segment)

        def follow() -> None:
            looked.clear()
            follower.follow()
            assert len(looked) <= step + 2

        pointers: list[int] = []
        for _ in range(2 * room):
            pointers.append(context.mem_alloc_host(1))
            follow()
        assert follower.header().is_kept == 0
        # What comes and goes meanwhile, where the table knows already and where it does not.
        for index in range(room):
            context.mem_free(pointers.pop(index))
            follow()
        for _ in range(room // step):
            context.mem_free(pointers.pop(0))
            pointers.append(context.mem_alloc_host(1))
            follow()
        follow()

        assert follower.header().is_kept == 1
        assert len(follower.entries()) == room
        for pointer in pointers:
            follower.check(pointer)
            context.mem_free(pointer)


def test_imports_that_overlap_are_the_driver_s_to_say(segment: Segment) -> None:
    with pair(profile="intel") as world, world.driver.create_context() as context:
        follower = Follower(world, segment)
        context.mem_alloc_host(PAGE)
        state = follower.state
        state.overlaid.append(next(iter(state.allocations)).value)
        follower.follow()
        assert follower.header().is_kept == 0
        state.overlaid.clear()
        pointer = context.mem_alloc_host(1)
        follower.follow()
        assert follower.header().is_kept == 1
        follower.check(pointer)
