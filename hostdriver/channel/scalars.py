"""Numbers that stand side by side in every message of a function: read at once."""

from __future__ import annotations

from itertools import groupby
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from hostdriver.channel.specs import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostdriver.channel.specs import FunctionSpec, ParamSpec

_FORMATS: Final = {1: "B7x", 2: "H6x", 4: "I4x", 8: "Q"}
"""Items of eight bytes, of which as many count as the parameter has."""


class Part(NamedTuple):
    """Some parameters of a function: all numbers, or one of another kind."""

    shape: Struct | None
    """How the numbers stand there; None for a parameter of another kind."""
    names: tuple[str, ...]
    param: ParamSpec
    """The first of them."""


_parts: Final[dict[int, tuple[Part, ...]]] = {}
"""Parts by function number, as they were needed."""


def parts_of(spec: FunctionSpec) -> tuple[Part, ...]:
    """Return the parameters of a function, numbers that follow each other together."""
    found = _parts.get(spec.number)
    if found is None:
        found = _parts[spec.number] = tuple(_split(spec))
    return found


def _split(spec: FunctionSpec) -> Iterator[Part]:
    for are_numbers, group in groupby(spec.params, _is_number):
        params = list(group)
        if not are_numbers:
            yield from (Part(None, (param.name,), param) for param in params)
            continue
        shape = Struct("<" + "".join(_FORMATS[param.size] for param in params))
        yield Part(shape, tuple(param.name for param in params), params[0])


def _is_number(param: ParamSpec) -> bool:
    return param.kind in {Kind.VALUE, Kind.HANDLE}
