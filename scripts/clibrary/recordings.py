"""Appends that the library may record: what has to hold of their parameters, as a table in C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.clibrary.facts import Facts, Function

NO_PARAM: Final = 255
WITHOUT_OTHER: Final = ("KNOWN", "NULL", "NO_NULLS", "PATTERN")


def recordings(facts: Facts) -> Iterator[str]:
    """Yield the conditions of each append, and the table of all of them."""
    for name, texts in facts.recorded.items():
        if not texts:
            continue
        yield f"static const emuzero_condition conditions_{name}[] = {{\n"
        for text in texts:
            yield f"    {{{_condition(facts, facts.functions[name], text)}}}, /* {text} */\n"
        yield "};\n"
    yield "\nconst emuzero_recording emuzero_recordings[] = {\n"
    numbers = {name: number for number, name in enumerate(facts.functions)}
    for name, texts in facts.recorded.items():
        conditions = f"conditions_{name}" if texts else "NULL"
        yield f"    {{&emuzero_functions[{numbers[name]}], {conditions}, {len(texts)}}},\n"
    yield "};\n\n"


def number_of(facts: Facts, name: str) -> int:
    """Return the place of an append in that table."""
    return list(facts.recorded).index(name)


def _condition(facts: Facts, function: Function, text: str) -> str:
    """Return one condition: its kind, a parameter, another one if it names one, a number.

    Raises:
        ValueError: it is none that the library knows.
    """
    names = [param.name for param in function.params]
    subject, kind, *rest = text.split()
    other, value = NO_PARAM, 0
    match kind, rest:
        case (("MULTIPLE_OF" | "APART_FROM"), [name]) if name in names:
            other = names.index(name)
        case "MULTIPLE_OF", [number]:
            value = int(number)
        case "ONE_OF", [enumeration]:
            value = _count(facts, enumeration)
        case _, [] if kind in WITHOUT_OTHER:
            pass
        case _:
            raise ValueError(f"{function.name}: {text} is no condition")
    return f"EMUZERO_{kind}, {names.index(subject)}, {other}, {value}"


def _count(facts: Facts, enumeration: str) -> int:
    """Return how many values an enumeration has, which go up from 0.

    Raises:
        ValueError: they do not.
    """
    values = [
        value
        for name, value in facts.enums[enumeration].items()
        if not name.endswith("FORCE_UINT32")
    ]
    if sorted(values) != list(range(len(values))):
        raise ValueError(f"the values of {enumeration} do not go up from 0")
    return len(values)
