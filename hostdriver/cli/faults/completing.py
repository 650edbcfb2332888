"""What a shell completes of rules: points, then what can be done there, then parameters."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec
from click.shell_completion import CompletionItem

from firmware.inject import ACTIONS, RuleError, When, Where, matching, points

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click


def complete_points(
    _: click.Context, __: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Return the points that begin like this."""
    return [
        CompletionItem(point.name, help=point.text)
        for point in points().values()
        if point.name.startswith(incomplete)
    ]


def complete_rules(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Return how a rule in one argument may go on."""
    before, space, word = incomplete.rpartition(" ")
    if not space:
        return complete_points(ctx, parameter, incomplete)
    return [
        CompletionItem(f"{before} {item.value}", help=item.help)
        for item in _next_words(_split(before), word)
    ]


def complete_words(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Return how a rule goes on whose words are arguments of their own."""
    words: Sequence[str] = ctx.params.get(parameter.name or "") or ()
    if not words:
        return complete_points(ctx, parameter, incomplete)
    return _next_words(words, incomplete)


def _next_words(words: Sequence[str], incomplete: str) -> list[CompletionItem[str]]:
    """Return the actions of a point, or behind an action what else a rule may say."""
    try:
        found = matching(words[0])
    except RuleError:
        return []
    if len(words) == 1:
        kinds = {kind.WORD: kind for point in found for kind in point.actions}
        items = [
            CompletionItem(word + ("=" if kind.MAIN else ""), help=kind.TEXT)
            for word, kind in kinds.items()
        ]
    else:
        kind = ACTIONS.get(words[1].partition("=")[0])
        names = [field.name for field in msgspec.structs.fields(kind)] if kind else []
        where = {name for point in found for name in point.selectors}
        names += [name for name in Where.__struct_fields__ if name in where]
        names += [*When.__struct_fields__, "name"]
        items = [CompletionItem(f"{name}=") for name in names]
    return [item for item in items if item.value.startswith(incomplete)]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
