"""Steps: bytes written, copied and read, by device and CPU, also where nothing is."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.model.oracle import GRANULE, PAGE
from tests.model.play import now_and_then, some
from tests.model.stores import content, cut, is_known, overlap, size_of

if TYPE_CHECKING:
    from tests.model.oracle import Process
    from tests.model.play import Play

MOST_BYTES = 3 * PAGE


def write(play: Play, chance: random.Random) -> None:
    process = play.process(chance)
    region = _region(process, chance)
    if region is None:
        return
    start, size = region
    seed = chance.getrandbits(32)
    pieces = process.pieces(start, size, writes=True)
    data = random.Random(seed).randbytes(size)
    play.store(process, ("write_noise", start, size, seed), pieces, data)


def read(play: Play, chance: random.Random) -> None:
    process = play.process(chance)
    region = _region(process, chance)
    if region is not None:
        start, size = region
        play.compare(process, process.pieces(start, size), start, size)


def copy(play: Play, chance: random.Random) -> None:
    """Copy between two places that show different bytes of memory."""
    process = play.process(chance)
    one, other = _region(process, chance), _region(process, chance)
    if one is None or other is None:
        return
    size = min(one[1], other[1])
    to, source = one[0], other[0]
    written, shown = process.pieces(to, size, writes=True), process.pieces(source, size)
    is_apart = to + size <= source or source + size <= to
    if not is_apart or overlap(written, shown) or not is_known(shown):
        return
    done = min(size_of(written), size_of(shown))
    data = content(shown).ljust(size, b"\0")
    play.store(process, ("copy", to, source, size), cut(written, 0, done), data)


def poke(play: Play, chance: random.Random) -> None:
    """Store bytes by the CPU, which needs no access attribute."""
    process = play.process(chance)
    place = _host_place(process, chance)
    if place is None:
        return
    start, size, error = place
    seed = chance.getrandbits(32)
    call = ("poke_noise", start, size, seed)
    if error is None:
        data = random.Random(seed).randbytes(size)
        play.store(process, call, process.window(start, size), data)
    else:
        play.expect(error, process, *call)


def peek(play: Play, chance: random.Random) -> None:
    """Load bytes by the CPU."""
    process = play.process(chance)
    place = _host_place(process, chance)
    if place is None:
        return
    start, size, error = place
    if error is None:
        play.compare(process, process.window(start, size), start, size, by_cpu=True)
    else:
        play.expect(error, process, "peek_digest", start, size)


def ask_range(play: Play, chance: random.Random) -> None:
    """Ask which memory holds an address."""
    process = play.process(chance)
    region = _region(process, chance)
    if region is None:
        return
    address = region[0]
    found = play.do(process, "range_of", address)
    opening, mapping = process.opening_at(address), process.mapping_at(address)
    allocation = process.allocation_at(address)
    if allocation is not None:
        assert found == [allocation.start, allocation.size]
    elif opening is not None:
        assert found == [opening.pointer, opening.size]
    elif mapping is not None:
        assert found == [mapping.start, mapping.size]
    else:
        assert found == "ADDRESS_NOT_FOUND"


def _region(process: Process, chance: random.Random) -> tuple[int, int] | None:
    """Return a range in allocated, opened or reserved memory, mostly where there is some."""
    allocation = some(chance, process.allocations)
    opening = some(chance, process.openings)
    mapping = some(chance, process.mappings)
    where = some(chance, process.reservations)
    if allocation is not None and chance.random() < 0.3:
        start, end = allocation.start, allocation.start + allocation.size
    elif opening is not None and chance.random() < 0.5:
        start, end = opening.pointer, opening.pointer + opening.size
    elif mapping is not None and chance.random() < 0.8:
        start, end = mapping.start, mapping.end
    elif where is not None:
        start, end = where.start, where.end
    else:
        return None
    first = start + chance.randrange(end - start)
    if now_and_then(chance, 3):
        first = start
    size = min(chance.choice((1, 64, GRANULE, MOST_BYTES)), end - first)
    return first, chance.randint(1, size)


def _host_place(process: Process, chance: random.Random) -> tuple[int, int, str | None] | None:
    """Return a range around host memory, and why the CPU may not use it."""
    hosts = [m for m in process.mappings if m.object.store.is_host]
    mapping = some(chance, hosts if now_and_then(chance, 2) else process.mappings)
    ranges = [(a.start, a.start + a.size) for a in process.allocations]
    ranges += [(o.pointer, o.pointer + o.size) for o in process.openings]
    if mapping is not None and chance.random() < 0.6:
        first, end = mapping.start, mapping.end + now_and_then(chance) * GRANULE
    elif ranges:
        first, end = chance.choice(ranges)
    else:
        return None
    start = first + chance.randrange(end - first)
    size = chance.randint(1, min(end - start, MOST_BYTES))
    window = process.window(start, size)
    known = size_of(window)
    if known < size:
        # What follows may be other memory: whether that can be used is asked for itself.
        behind = process.opening_at(start + known) or process.allocation_at(start + known)
        return None if known and behind else (start, size, "ADDRESS_NOT_FOUND")
    is_host = all(piece.store.is_host for piece in window)
    return start, size, None if is_host else "INVALID_ARGUMENT"
