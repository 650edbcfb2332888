"""What a program's pointers name, in memory that its library reads without a call."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from heapq import merge
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple, final

from firmware.abi.channel import (
    CHANNEL_PLACES,
    CHANNEL_PLACES_OFFSET,
    Place,
    PlaceKind,
    PlacesHeader,
)
from hostdriver.api.described import get_alloc_properties
from hostdriver.core.physical import MappingPhase
from hostdriver.core.state import Profile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from firmware.link.segment import Segment
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.names import Names
    from hostdriver.core.state import DriverState

_AT: Final = {field.name: field.offset for field in PlacesHeader.FIELDS}
_FIRST: Final = CHANNEL_PLACES_OFFSET + PlacesHeader.SIZE
_EVERYWHERE: Final = 1 << 64
_STEP: Final = 64
"""Entries that one call adds to a table that begins anew: its program waits, and all others."""
_ENDING: Final = frozenset({"zeMemFree", "zeMemFreeExt", "zeMemCloseIpcHandle"})
"""Functions after which memory may be none that a pointer names, although it is still there."""
_RANGES: Final = frozenset({"zeVirtualMemFree", "zeVirtualMemMap", "zeVirtualMemUnmap"})
"""Functions after which mappings may be there that were coming, or the other way round."""


class _Found(NamedTuple):
    start: int
    end: int
    entry: bytes


@final
class Places:
    """The table of places of one program.

    Owner: the program's session, the only one that writes it; what stands there is never read back.
    Invariants: `_starts` and `_ends` are the borders of its entries, in order, none overlaps
    another; between two calls they say of addresses below `_known` what the driver would, and the
    table is kept when that is all of them.
    """

    __slots__ = ("_ends", "_known", "_starts", "_touched", "_turn", "_words")

    def __init__(self, segment: Segment) -> None:
        """Begin an empty table in a zeroed channel."""
        self._words = segment.words
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._turn = 0
        self._touched: list[tuple[int, int]] = []
        self._known = _EVERYWHERE
        self._words.store32(CHANNEL_PLACES_OFFSET + _AT["is_kept"], 1)

    def begin(self, state: DriverState) -> None:
        """Follow the changes of a state that has just begun."""
        for each in (state.allocations, state.imports, state.mappings, state.reservations):
            each.touched = self._touched

    def follow(self, state: DriverState, names: Names, call: Arguments | None) -> None:
        """Take over what changed until a call ends, before its reply; None: something else ends."""
        touched = [*self._touched]
        self._touched.clear()
        concerned = None if call is None else _concerned(call)
        if concerned is not None:
            touched.append(concerned)
        if state.overlaid:
            self._give_up()
            return
        for start, end in touched:
            if start < self._known:
                self._refresh(state, names, start, end)
        if self._known < _EVERYWHERE and _count(state) <= CHANNEL_PLACES:
            self._learn(state, names)

    def _learn(self, state: DriverState, names: Names) -> None:
        """Go on with a table that begins anew, for as much as one call may cost."""
        found = list(islice(merge(*_look(state, names, self._known, _EVERYWHERE)), _STEP))
        start = self._known
        self._known = found[-1].end if len(found) == _STEP else _EVERYWHERE
        self._enter(found, start, self._known)

    def _refresh(self, state: DriverState, names: Names, start: int, end: int) -> None:
        """Put what the driver knows in the place of all entries that reach into some addresses."""
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        found = sorted(chain.from_iterable(_look(state, names, start, end)))
        if found or first < last:
            self._enter(found, start, end)

    def _enter(self, found: list[_Found], start: int, end: int) -> None:
        """Put what was found in the place of all entries between some addresses, or in part."""
        if found:
            start, end = min(start, found[0].start), max(end, found[-1].end)
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        if len(self._starts) - (last - first) + len(found) > CHANNEL_PLACES:
            self._give_up()
            return
        self._replace(first, last, found)

    def _replace(self, first: int, last: int, found: list[_Found]) -> None:
        before = len(self._starts)
        self._starts[first:last] = [each.start for each in found]
        self._ends[first:last] = [each.end for each in found]
        count = len(self._starts)
        data = b"".join([each.entry for each in found])
        bytes_, at = self._words.u8, _FIRST + first * Place.SIZE
        self._turn_over()
        if count != before:
            rest = bytes_[_FIRST + last * Place.SIZE : _FIRST + before * Place.SIZE]
            bytes_[at + len(data) : _FIRST + count * Place.SIZE] = rest
        bytes_[at : at + len(data)] = data
        self._words.store32(CHANNEL_PLACES_OFFSET + _AT["count"], count)
        self._words.store32(CHANNEL_PLACES_OFFSET + _AT["is_kept"], int(self._known == _EVERYWHERE))
        self._turn_over()

    def _give_up(self) -> None:
        """Let the library ask, until what is there fits in the table and stands there again."""
        if not self._known:
            return
        self._known = 0
        self._starts.clear()
        self._ends.clear()
        self._turn_over()
        self._words.store32(CHANNEL_PLACES_OFFSET + _AT["is_kept"], 0)
        self._words.store32(CHANNEL_PLACES_OFFSET + _AT["count"], 0)
        self._turn_over()

    def _turn_over(self) -> None:
        """Count on: an odd number says that the table is being changed."""
        self._turn += 1
        self._words.store64(CHANNEL_PLACES_OFFSET + _AT["turn"], self._turn)


def _concerned(call: Arguments) -> tuple[int, int] | None:
    """Return addresses whose memory a call may change without its coming or going."""
    if call.spec.name in _ENDING:
        pointer = call.number("ptr")
        return pointer, pointer + 1
    if call.spec.name in _RANGES:
        pointer = call.number("ptr")
        return pointer, min(pointer + call.number("size"), _EVERYWHERE)
    return None


def _count(state: DriverState) -> int:
    """Return how many entries there may be."""
    mapped = state.reservations if state.profile is Profile.INTEL else state.mappings
    return len(state.allocations) + len(state.imports) + len(mapped)


def _look(state: DriverState, names: Names, start: int, end: int) -> Iterable[Iterator[_Found]]:
    """Return an entry for each piece of memory that reaches into some addresses, kind by kind."""
    return (
        _allocated(state, names, start, end),
        _opened(state, names, start, end),
        _mapped(state, names, start, end),
    )


def _allocated(state: DriverState, names: Names, start: int, end: int) -> Iterator[_Found]:
    for held in state.allocations.overlapping(start, end):
        if not held.value.leaving:
            yield _entry(state, names, held.start, held.value.size, PlaceKind.ALLOCATED)


def _opened(state: DriverState, names: Names, start: int, end: int) -> Iterator[_Found]:
    for opened in state.imports.overlapping(start, end):
        yield _entry(state, names, opened.value.pointer, opened.value.size, PlaceKind.OPENED)


def _mapped(state: DriverState, names: Names, start: int, end: int) -> Iterator[_Found]:
    if not state.reservations:
        return
    if state.profile is Profile.INTEL:
        for reserved in state.reservations.overlapping(start, end):
            yield _entry(state, names, reserved.start, reserved.value.size, PlaceKind.MAPPED)
        return
    for mapped in state.mappings.overlapping(start, end):
        if mapped.value.phase is MappingPhase.THERE:
            yield _entry(state, names, mapped.start, mapped.value.size, PlaceKind.MAPPED)


def _entry(state: DriverState, names: Names, start: int, size: int, kind: PlaceKind) -> _Found:
    found = get_alloc_properties(state, start)
    entry = Place(
        start=start,
        size=size,
        id=found.id,
        page_size=found.page_size,
        kind=kind,
        type=found.type,
        device=names.number_of(found.device),
    )
    return _Found(start, start + size, entry.pack())
