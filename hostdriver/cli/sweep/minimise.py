"""Minimising: which of several rules are needed for a run to fail as it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ItemT = TypeVar("ItemT")


def minimise(
    items: Sequence[ItemT], still_fails: Callable[[Sequence[ItemT]], bool]
) -> tuple[ItemT, ...]:
    """Return items of which each is needed: without any one of them nothing fails.

    Parts are dropped by halves first, then by quarters and so on, as delta debugging does; order is
    kept. `items` together fail, and none of them do not.

    Args:
        items: what fails together.
        still_fails: whether some of them fail too.
    """
    kept = list(items)
    parts = 2
    while len(kept) > 1:
        size = -(-len(kept) // parts)
        for start in range(0, len(kept), size):
            rest = [*kept[:start], *kept[start + size :]]
            if rest and still_fails(rest):
                kept = rest
                parts = max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(parts * 2, len(kept))
    return tuple(kept)
