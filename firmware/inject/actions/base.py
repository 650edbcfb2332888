"""What every action is."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import msgspec


class Action(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that an injection does."""

    WORD: ClassVar[str] = ""
    """Its word in a rule."""
    MAIN: ClassVar[str] = ""
    """The parameter that may follow the word behind an equals sign."""
    TEXT: ClassVar[str] = ""
    """What it does, for people."""


class Parameter(NamedTuple):
    """One parameter of an action."""

    name: str
    type: str
    """`int`, `float`, `str` or `bool`."""
    default: str | int | float | bool | None
    """None: it has to be given."""


def parameters(kind: type[Action]) -> tuple[Parameter, ...]:
    """Return the parameters of an action, in their order."""
    found: list[Parameter] = []
    for field in msgspec.structs.fields(kind):
        type_name = field.type.__name__ if isinstance(field.type, type) else str(field.type)
        default = None if field.required else field.default
        found.append(Parameter(field.name, type_name, default))
    return tuple(found)


def usage(kind: type[Action]) -> str:
    """Return an action as it stands in a rule, with its parameters and their defaults."""
    parts = [kind.WORD]
    for name, type_name, default in parameters(kind):
        value = type_name.upper() if default in {None, ""} else f"{default}"
        if name == kind.MAIN:
            parts[0] = f"{kind.WORD}={value}"
        else:
            parts.append(f"{name}={value}")
    return " ".join(parts)
