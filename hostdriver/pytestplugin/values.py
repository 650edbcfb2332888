"""Values that cross between a test and its child processes: what JSON has, and bytes.

Imported in child processes, so that it imports little.
"""

from __future__ import annotations

import json
from typing import Final, TypeAlias

Value: TypeAlias = (
    "bool | int | float | str | bytes | list[Value] | tuple[Value, ...] | dict[str, Value] | None"
)
"""Tuples arrive as lists."""
Message: TypeAlias = "dict[str, Value]"
_BYTES: Final = "__bytes__"


class ValueRefused(TypeError):
    """A value that cannot cross."""


def encode(message: Message) -> bytes:
    """Return a message as one line.

    Raises:
        ValueRefused: it holds something that is neither JSON nor bytes.
    """
    try:
        return json.dumps(message, default=_plain).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise ValueRefused(f"only what JSON has, and bytes, can be sent: {error}") from error


def decode(line: bytes) -> Message:
    """Return the message in a line.

    Raises:
        ValueError: it is none.
    """
    found: Value = json.loads(line, object_hook=_whole)
    if not isinstance(found, dict):
        raise ValueError(f"{line[:80]!r} is no message")  # noqa: TRY004 - what the docstring says
    return found


def _plain(value: object) -> object:
    if isinstance(value, bytes | bytearray):
        return {_BYTES: value.hex()}
    raise TypeError(f"{type(value).__name__} {value!r}")


def _whole(found: dict[str, Value]) -> Value:
    data = found.get(_BYTES)
    return bytes.fromhex(data) if isinstance(data, str) and len(found) == 1 else found
