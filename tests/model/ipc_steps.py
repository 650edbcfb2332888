"""Steps: handles got, put, opened and closed, also those that are dead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.model.oracle import GRANULE, INVALID, Allocation, Handle, Mapping, Opening
from tests.model.play import now_and_then, some
from tests.model.stores import size_of

if TYPE_CHECKING:
    import random

    from tests.model.play import Play

MOST_HANDLES = 12
MOST_OPENINGS = 6


def export_window(play: Play, chance: random.Random) -> None:
    """Get a handle for any window; where there is a hole in it, there is none."""
    process = play.process(chance)
    if len(process.handles) >= MOST_HANDLES:
        return put(play, chance)
    mapping, where = some(chance, process.mappings), some(chance, process.reservations)
    if mapping is None or where is None:
        return None
    start = mapping.start + chance.randrange(mapping.size)
    end = mapping.end
    while (behind := process.mapping_at(end)) is not None and chance.random() < 0.7:
        end = behind.end
    size = chance.randint(1, end - start)
    if now_and_then(chance, 4):
        size = chance.choice((0, end - start, end - start + 1))
    if (opening := some(chance, process.openings)) is not None and now_and_then(chance):
        start, size = opening.pointer, 1
    if (allocation := some(chance, process.allocations)) is not None and now_and_then(chance):
        start, size = allocation.start, chance.randint(1, allocation.size + 1)
    raw = play.do(process, "get", start, size)
    reason = process.why_not_export(start, size)
    if reason is not None:
        assert raw == reason, f"{raw}, expected {reason}"
        return None
    assert len(raw) == 128, raw
    assert raw not in {handle.raw for handle in play.world.handles}
    handle = Handle(raw, process, process.window(start, size), None)
    process.handles.append(handle)
    play.world.handles.append(handle)
    return None


def export_plain(play: Play, chance: random.Random) -> None:
    """Get the one handle of some memory: the same each time, until it is put as often."""
    process = play.process(chance)
    sources: list[Mapping | Allocation] = [*process.mappings, *process.allocations]
    source = some(chance, sources)
    if source is None:
        return
    start = source.start + now_and_then(chance) * chance.choice((1, GRANULE))
    raw = play.do(process, "get_plain", start)
    shown = process.mapping_at(start) or process.allocation_at(start)
    if shown is None or shown.start != start or _is_shared(shown):
        assert raw == INVALID, raw
        return
    handle = process.plain_handle(shown)
    if handle is not None:
        assert raw == handle.raw
        handle.uses += 1
        return
    assert len(raw) == 128, raw
    handle = Handle(raw, process, process.window(start, shown.size), shown)
    process.handles.append(handle)
    play.world.handles.append(handle)


def _is_shared(source: Mapping | Allocation) -> bool:
    return isinstance(source, Allocation) and source.kind == "shared"


def put(play: Play, chance: random.Random) -> None:
    """Put a handle: one's own, another's, which does nothing, or one that is dead."""
    process = play.process(chance)
    handle = some(chance, process.handles if chance.random() < 0.7 else play.world.handles)
    if handle is None:
        return
    play.expect(None, process, "put", handle.raw)
    if handle in process.handles:
        handle.uses -= 1
        if not handle.uses:
            process.handles.remove(handle)


def open_handle(play: Play, chance: random.Random) -> None:
    """Open a handle of any process, one's own too; a dead one opens nothing."""
    process = play.process(chance)
    if len(process.openings) >= MOST_OPENINGS:
        return close(play, chance)
    alive = [handle for handle in play.world.handles if play.world.is_open_to_all(handle)]
    handle = some(chance, alive if chance.random() < 0.8 else play.world.handles[-40:])
    if handle is None:
        return None
    pointer = play.do(process, "open", handle.raw)
    if not play.world.is_open_to_all(handle):
        assert pointer == INVALID, pointer
        return None
    assert isinstance(pointer, int), pointer
    size = size_of(handle.pieces)
    assert process.is_free(pointer, size)
    assert pointer % GRANULE == handle.pieces[0].offset % GRANULE
    process.openings.append(Opening(pointer, size, handle.pieces))
    play.compare(process, process.pieces(pointer, size), pointer, size)
    return None


def close(play: Play, chance: random.Random) -> None:
    """Close opened memory, by its pointer or by one inside, which is an error; never twice."""
    process = play.process(chance)
    opening = some(chance, process.openings)
    if opening is None:
        return
    pointer = opening.pointer + now_and_then(chance, 6) * chance.randrange(opening.size)
    if play.expect(process.why_not_close(pointer), process, "close", pointer):
        process.openings.remove(opening)
        play.expect(INVALID, process, "close", pointer)
