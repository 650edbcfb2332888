"""Whether the numbers in actions can be: a rule that nobody can carry out is refused at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from firmware.inject.errors import RuleError

if TYPE_CHECKING:
    from firmware.inject.actions import Action

MOST_COPIES: Final = 10_000
"""How often one signal or record may come again: enough for a storm, and memory for it is there."""
LONGEST_SECONDS: Final = 1e9
"""Longest time of a rule: thirty years, which are still a number of nanoseconds."""
SHORTEST_EVERY: Final = 0.001
"""Shortest time between signals that come by themselves: who sends more of them counts them."""
_U64: Final = (1 << 64) - 1
_LIMITS: Final[dict[str, tuple[float, float]]] = {
    "seconds": (0, LONGEST_SECONDS),
    "every": (0, LONGEST_SECONDS),
    "count": (0, MOST_COPIES),
    "bits": (1, 512),
    # Both ways from where a command points to.
    "pages": (-(1 << 52), 1 << 52),
}


def check_numbers(action: Action) -> None:
    """See that the numbers of an action are in their ranges.

    Raises:
        RuleError: one is not.
    """
    for name in action.__struct_fields__:
        value = getattr(action, name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            continue
        least, most = _LIMITS.get(name, (0, _U64))
        if not least <= value <= most:
            raise RuleError(f"{name} {value:g}, expected {_shown(least)} to {_shown(most)}")
        if name == "every" and 0 < value < SHORTEST_EVERY:
            raise RuleError(
                f"every {value:g}, expected {SHORTEST_EVERY:g} seconds or more, or 0 for not at all"
            )


def _shown(number: float) -> str:
    return (
        f"{number:#x}" if isinstance(number, int) and abs(number) > MOST_COPIES else f"{number:g}"
    )
