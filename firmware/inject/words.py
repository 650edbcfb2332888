"""Rules as words: one flat form for a line of text, a table in a file and JSON.

A line is `POINT ACTION[=VALUE] [key=value ...]`: `os.driver.map errno=ENOMEM nth=3`. The keys are
the parameters of the action, the selectors, the triggers and `name`; in a file the same words are
the keys of a table, with `point` and `action` among them.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import msgspec

from firmware.inject.actions import ACTIONS
from firmware.inject.errors import RuleError
from firmware.inject.rule import Rule, When, Where

if TYPE_CHECKING:
    from firmware.inject.actions import Action

Scalar: TypeAlias = str | int | float | bool
Words: TypeAlias = Mapping[str, Scalar]
StructT = TypeVar("StructT", bound=msgspec.Struct)

_UNITS: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TRUTH: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def parse_rule(line: str) -> Rule:
    """Return the rule in a line of text.

    Raises:
        RuleError: it is none, or nothing can carry it out.
    """
    try:
        parts = shlex.split(line, comments=True)
    except ValueError as error:
        raise RuleError(f"{line!r}: {error}") from error
    if len(parts) < 2:
        raise RuleError(f"{line!r}: expected POINT ACTION, as in 'os.driver.map errno=EIO'")
    point, action, *others = parts
    word, equals, value = action.partition("=")
    words: dict[str, Scalar] = {"point": point, "action": word}
    if equals:
        words[_main_of(_action_class(word))] = value
    for part in others:
        key, equals, value = part.partition("=")
        if key in words:
            raise RuleError(f"{line!r}: {key!r} is there twice")
        # A trigger that is a switch needs no value.
        words[key] = value if equals else True
    return rule_of(words)


def rule_of(words: Words) -> Rule:
    """Return the rule in a flat table of words.

    Raises:
        RuleError: it is none, or nothing can carry it out.
    """
    left = dict(words)
    for key, value in left.items():
        if isinstance(value, str) and not value.isprintable():
            raise RuleError(f"{key}={value!a}: expected text that can be printed")
    point, word, name = (str(left.pop(key, "")) for key in ("point", "action", "name"))
    if not point:
        raise RuleError("a rule without 'point'")
    if not word:
        raise RuleError(f"the rule on {point} has no 'action'")
    kind = _action_class(word)
    action = _make(kind, left)
    where = _make(Where, left)
    when = _make(When, left)
    if left:
        known = (*kind.__struct_fields__, *Where.__struct_fields__, *When.__struct_fields__)
        raise RuleError(
            f"the rule on {point} has {min(left)!r}; {word!r} takes {', '.join(known)}, name"
        )
    rule = Rule(point, action, where, when, name)
    rule.check()
    return rule


def words_of(rule: Rule) -> dict[str, Scalar]:
    """Return a rule as a flat table, without what is as it is by itself."""
    words: dict[str, Scalar] = {"point": rule.point, "action": rule.action.WORD}
    required = {field.name for field in _fields(type(rule.action)) if field.required}
    for part in (rule.action, rule.where, rule.when):
        for field in _fields(type(part)):
            value: Scalar | None = getattr(part, field.name)
            if value is not None and (field.name in required or value != field.default):
                words[field.name] = value
    if rule.name:
        words["name"] = rule.name
    return words


def line_of(rule: Rule) -> str:
    """Return a rule as the line of text that `parse_rule` reads."""
    words = words_of(rule)
    point, action = words.pop("point"), words.pop("action")
    main = rule.action.MAIN
    first = f"{action}={_text(words.pop(main))}" if main and main in words else str(action)
    rest = [f"{key}={_text(value)}" for key, value in words.items()]
    return shlex.join([str(point), first, *rest])


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return the fields of a structure, which takes long to find out."""
    return msgspec.structs.fields(kind)


def _action_class(word: str) -> type[Action]:
    if word not in ACTIONS:
        raise RuleError(f"no action is called {word!r}; there are {', '.join(sorted(ACTIONS))}")
    return ACTIONS[word]


def _main_of(kind: type[Action]) -> str:
    if not kind.MAIN:
        raise RuleError(f"the action {kind.WORD!r} takes no value")
    return kind.MAIN


def _make(kind: type[StructT], left: dict[str, Scalar]) -> StructT:
    """Return a structure made of those words that are its fields, which are taken out.

    Raises:
        RuleError: a word is not of its field's type; one that has to be there is missing.
    """
    values: dict[str, Scalar] = {}
    for field in _fields(kind):
        if field.name in left:
            values[field.name] = _scalar(field.name, left.pop(field.name), _type_of(field))
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        word = getattr(kind, "WORD", kind.__name__.lower())
        raise RuleError(f"{word}: {error}") from error


def _type_of(field: msgspec.structs.FieldInfo) -> type[Scalar]:
    """Return the one type besides None that a field has."""
    for kind in (bool, int, float, str):
        if field.type in (kind, kind | None):
            return kind
    raise TypeError(f"{field.name} is {field.type}")


def _scalar(name: str, value: Scalar, kind: type[Scalar]) -> Scalar:
    """Return a word as a value of its field's type.

    Raises:
        RuleError: it is none.
    """
    try:
        match value:
            case bool():
                found: Scalar = value
            case str() if kind is bool:
                found = _TRUTH[value.lower()]
            case str() if kind is int:
                found = _integer(value)
            case str() if kind is float:
                found = float(value)
            case int() if kind is float:
                found = float(value)
            case int() if kind is str:
                found = hex(value) if name == "address" else str(value)
            case _:
                found = value
    except (ValueError, KeyError):
        found = math.nan
    if type(found) is not kind or (isinstance(found, float) and math.isnan(found)):
        raise RuleError(f"{name}={value}: expected {_EXPECTED[kind]}")
    return found


_EXPECTED: Final[dict[type[Scalar], str]] = {
    bool: "true or false",
    int: "a whole number, as 3, 0x1000 or 64K",
    float: "a number, as 0.5",
    str: "text",
}


def _integer(text: str) -> int:
    unit = _UNITS.get(text[-1:].lower())
    return int(text, 0) if unit is None or text[:2].lower() == "0x" else int(text[:-1], 0) * unit


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:#x}" if isinstance(value, int) and abs(value) >= 4096 else str(value)
