"""The IPC handle among what a Python method is given."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final, NamedTuple, cast

if TYPE_CHECKING:
    from types import FunctionType

    from typing_extensions import Buffer

_NAME: Final = "handle"
"""The parameter of every method that opens or puts one."""


class Given(NamedTuple):
    """What a method is given."""

    arguments: tuple[object, ...]
    """The object first."""
    named: dict[str, object]


def given_handle(code: FunctionType, given: Given) -> bytes | None:
    """Return the handle that a method is given; None: nothing that could be one."""
    try:
        bound = inspect.signature(code).bind(*given.arguments, **given.named)
    except TypeError:
        # The method says it better.
        return None
    found: object = bound.arguments.get(_NAME)
    try:
        return bytes(memoryview(cast("Buffer", found)))
    except TypeError:
        return None


def with_handle(code: FunctionType, given: Given, handle: bytes) -> Given:
    """Return what a method is given, with another handle."""
    bound = inspect.signature(code).bind(*given.arguments, **given.named)
    bound.arguments[_NAME] = handle
    return Given(bound.args, bound.kwargs)
