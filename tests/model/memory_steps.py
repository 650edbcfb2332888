"""Steps: objects, reservations, mappings and access, rightly and wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.model.oracle import (
    GRANULE,
    LARGE,
    NONE,
    PAGE,
    READONLY,
    READWRITE,
    Allocation,
    Mapping,
    Object,
    Reservation,
)
from tests.model.play import now_and_then, some
from tests.model.stores import Store

if TYPE_CHECKING:
    import random

    from tests.model.oracle import Process
    from tests.model.play import Play

MOST_OBJECTS = 10
MOST_RESERVATIONS = 5
MOST_ALLOCATIONS = 6
TABLES = 1 << 20
"""Device memory that may be wanted for page tables beside what is asked for."""


def create(play: Play, chance: random.Random) -> None:
    """Make an object, of a size that is wrong now and then."""
    process = play.process(chance)
    if len(process.objects) >= MOST_OBJECTS:
        return destroy(play, chance)
    is_host = now_and_then(chance, 3)
    page = GRANULE if is_host else PAGE
    size = chance.randint(1, 4) * page
    if now_and_then(chance, 6):
        size = LARGE
    if now_and_then(chance):
        wrong = chance.choice((0, size + 1, page // 2))
        play.expect("UNSUPPORTED_SIZE", process, "make", wrong, int(is_host))
        return None
    number = play.do(process, "make", size, int(is_host))
    assert isinstance(number, int), number
    process.objects.append(Object(number, Store(size, is_host)))
    return None


def create_much(play: Play, chance: random.Random) -> None:
    """Ask for about all the memory that the device has left, and give it back."""
    process = play.process(chance)
    free = play.cast.audit().free_bytes
    size = max(free * chance.randint(50, 150) // 100 // LARGE, 1) * LARGE
    number = play.do(process, "make", size)
    if size > free:
        assert number == "OUT_OF_DEVICE_MEMORY"
    elif size + TABLES <= free:
        assert isinstance(number, int), number
    if isinstance(number, int):
        play.expect(None, process, "destroy", number)


def destroy(play: Play, chance: random.Random) -> None:
    process = play.process(chance)
    gone = some(chance, process.objects)
    if gone is None:
        return
    if play.expect(process.why_not_destroy(gone), process, "destroy", gone.number):
        process.objects.remove(gone)
        play.expect("INVALID_ARGUMENT", process, "destroy", gone.number)


def reserve(play: Play, chance: random.Random) -> None:
    """Reserve addresses: anywhere, where they are free, or where they are not."""
    process = play.process(chance)
    if len(process.reservations) >= MOST_RESERVATIONS:
        return free(play, chance)
    size = chance.randint(1, 10) * PAGE
    if now_and_then(chance, 4):
        size = 2 * LARGE
    if now_and_then(chance):
        play.expect("UNSUPPORTED_SIZE", process, "reserve", chance.choice((0, size + 1)))
        return None
    wish = _wish(process, chance)
    call = ("reserve_at", size, wish) if wish else ("reserve", size)
    start = play.do(process, *call)
    assert isinstance(start, int), start
    assert process.is_free(start, size)
    assert start % (LARGE if size >= LARGE else PAGE) == 0 or start == wish
    process.reservations.append(Reservation(start, size))
    return None


def _wish(process: Process, chance: random.Random) -> int:
    """Return an address to ask for: of a neighbour, of something that is there, or none."""
    known = some(chance, process.reservations)
    if known is None or chance.random() < 0.5:
        return 0
    return chance.choice((known.start, known.end, known.end + 16 * LARGE))


def free(play: Play, chance: random.Random) -> None:
    """Free a reservation with all that is mapped in it, or part of one, which is an error."""
    process = play.process(chance)
    gone = some(chance, process.reservations)
    if gone is None:
        return
    start, size = gone.start, gone.size
    if now_and_then(chance, 4):
        start += chance.choice((0, 1, GRANULE, PAGE))
        size -= chance.choice((0, 1, GRANULE, size))
    if play.expect(process.why_not_free(start, size), process, "free", start, size):
        process.unmap(process.mappings_in(start, size))
        process.reservations.remove(gone)
        play.expect("INVALID_ARGUMENT", process, "free", start, size)


def map_some(play: Play, chance: random.Random) -> None:
    """Map part of an object somewhere in a reservation; wherever it is then, it may be busy."""
    process = play.process(chance)
    source, where = some(chance, process.objects), some(chance, process.reservations)
    if source is None or where is None:
        return
    page = source.page_for(source.store.size)
    pages = source.store.size // page
    first = chance.randrange(pages)
    size = chance.randint(1, pages - first) * page
    offset = first * page
    start = where.start + chance.randrange(max(where.size // page, 1)) * page
    if now_and_then(chance):
        start += chance.choice((0, 1, GRANULE))
        offset += chance.choice((0, 1, GRANULE, page))
        size += chance.choice((0, 1, page))
    access = chance.choice((READWRITE,) * 6 + (READONLY, NONE))
    reason = process.why_not_map(start, size, source, offset)
    call = ("map_as", start, size, source.number, offset, access)
    if play.expect(reason, process, *call):
        process.mappings.append(Mapping(start, size, source, offset))
        where.allow(start, size, access)


def unmap(play: Play, chance: random.Random) -> None:
    """Unmap a range: exactly a mapping, several, parts of some, or nothing."""
    process = play.process(chance)
    where = some(chance, process.reservations)
    if where is None:
        return
    start, size = _part(process, where, chance)
    if play.expect(process.why_not_unmap(start, size), process, "unmap", start, size):
        inside = process.mappings_in(start, size)
        process.unmap(m for m in inside if m.start >= start and m.end <= start + size)


def set_access(play: Play, chance: random.Random) -> None:
    process = play.process(chance)
    where = some(chance, process.reservations)
    if where is None:
        return
    start, size = _part(process, where, chance)
    access = chance.choice((READWRITE, READWRITE, READONLY, NONE))
    reason = process.why_not_set_access(start, size)
    if play.expect(reason, process, "set_access", start, size, access):
        where.allow(start, size, access)


def get_access(play: Play, chance: random.Random) -> None:
    """Ask for the access at an address, and how far it is the same."""
    process = play.process(chance)
    where = some(chance, process.reservations)
    if where is None:
        return
    start, size = _part(process, where, chance)
    reason = process.why_not_set_access(start, size)
    found = play.do(process, "get_access", start, size)
    if reason is not None:
        assert found == reason
        return
    rest = where.access[where.pages(start, where.end - start)]
    same = next((at for at, access in enumerate(rest) if access != rest[0]), len(rest))
    assert found == [rest[0], same * GRANULE]


def allocate(play: Play, chance: random.Random) -> None:
    """Allocate memory of any kind and any size, now and then of none."""
    process = play.process(chance)
    if len(process.allocations) >= MOST_ALLOCATIONS:
        return free_allocation(play, chance)
    kind = chance.choice(("device", "device", "host", "shared"))
    size = chance.choice((1, 100, GRANULE, PAGE + 1, chance.randint(1, 3 * PAGE)))
    if now_and_then(chance):
        play.expect("UNSUPPORTED_SIZE", process, "obtain", kind, 0)
        return None
    start = play.do(process, "obtain", kind, size)
    assert isinstance(start, int), start
    page = PAGE if kind == "device" else GRANULE
    store = Store((size + page - 1) // page * page, kind != "device")
    assert process.is_free(start, store.size)
    process.allocations.append(Allocation(start, size, kind, store))
    return None


def free_allocation(play: Play, chance: random.Random) -> None:
    """Free an allocation by its pointer, or by one inside, which is an error; never twice."""
    process = play.process(chance)
    gone = some(chance, process.allocations)
    if gone is None:
        return
    pointer = gone.start + now_and_then(chance, 6) * chance.randrange(gone.size)
    reason = None if pointer == gone.start else "INVALID_ARGUMENT"
    if play.expect(reason, process, "free_memory", pointer):
        process.free_allocation(gone)
        play.expect("INVALID_ARGUMENT", process, "free_memory", pointer)


def _part(process: Process, where: Reservation, chance: random.Random) -> tuple[int, int]:
    """Return a range in a reservation, mostly one that begins and ends with mappings."""
    inside = process.mappings_in(where.start, where.size)
    if inside and chance.random() < 0.7:
        first, last = sorted(chance.choices(range(len(inside)), k=2))
        return inside[first].start, inside[last].end - inside[first].start
    page = process.page_along(where.start, where.size)
    first = chance.randrange(where.size // page)
    start, size = where.start + first * page, chance.randint(1, where.size // page - first) * page
    if now_and_then(chance):
        start += chance.choice((0, 1))
        size = chance.choice((size, size + 1, 0, size + where.size))
    return start, size
