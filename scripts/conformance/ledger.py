"""The data: every behaviour that was promised, in our own words, and why it is open if it is.

`load` reads the file as people write it; a `Ledger` holds its four tables as rows of one shape.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ANY: Final = ""
"""Stands for a behaviour that is the same with every profile."""
SPEC: Final = "spec"
INTEL: Final = "intel"


class LedgerError(Exception):
    """The data cannot be read; the text says where and why."""


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what people write: `open` is a key of `reasons` while no test exists."""

    open: str = ""


class Sentence(_Entry, frozen=True, kw_only=True):
    """A promise of the specification."""

    id: str
    words: str
    where: list[str]
    """Each `document: section`."""


class Decision(_Entry, frozen=True, kw_only=True):
    """What is done where documents are silent or disagree."""

    id: str
    question: str
    spec: str
    intel: str = ""
    """Left out where it is the same."""
    open_intel: str = ""


class Refusal(_Entry, frozen=True, kw_only=True):
    """One error of a function."""

    code: str
    when: str


class Function(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The errors of one function."""

    name: str
    errors: list[Refusal]


class Case(_Entry, frozen=True, kw_only=True):
    """A fault that was seen in other drivers, as the behaviour that excludes it."""

    id: str
    words: str


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    documents: dict[str, str]
    groups: dict[str, str]
    codes: dict[str, str]
    reasons: dict[str, str]
    sentence: list[Sentence] = []
    decision: list[Decision] = []
    function: list[Function] = []
    case: list[Case] = []


class Row(NamedTuple):
    """One behaviour, whatever table it stands in."""

    id: str
    group: str
    cells: tuple[str, ...]
    """What the page shows between id and tests."""
    needs: Mapping[str, str]
    """By profile: the key of the reason why no test proves it, or nothing if one must."""


class Ledger(NamedTuple):
    """All that is promised."""

    documents: Mapping[str, str]
    groups: Mapping[str, str]
    reasons: Mapping[str, str]
    tables: Mapping[str, tuple[Row, ...]]
    """By the marker that tests carry: `sentence`, `decision`, `error`, `case`."""
    problems: tuple[str, ...]
    """What contradicts itself in the data."""


def load(text: str) -> Ledger:
    """Return the ledger that a file describes.

    Raises:
        LedgerError: it is no TOML, or has other fields than it should.
    """
    try:
        file = msgspec.toml.decode(text, type=_File)
    except (msgspec.DecodeError, ValueError) as error:
        raise LedgerError(f"the data cannot be read: {error}") from error
    tables = {
        "sentence": tuple(_sentence(entry) for entry in file.sentence),
        "decision": tuple(_decision(entry) for entry in file.decision),
        "error": tuple(_refusal(file, one, row) for one in file.function for row in one.errors),
        "case": tuple(Row(e.id, _group(e.id), (e.words,), {ANY: e.open}) for e in file.case),
    }
    problems = tuple(_problems(file, tables))
    return Ledger(file.documents, file.groups, file.reasons, tables, problems)


def _group(name: str) -> str:
    """Return what an id begins with: its letters, or all before the last dash."""
    head, dash, _ = name.rpartition("-")
    return head if dash else name.rstrip("0123456789abcdefghijklmnopqrstuvwxyz")


def _sentence(entry: Sentence) -> Row:
    cells = (entry.words, "; ".join(entry.where))
    return Row(entry.id, _group(entry.id), cells, {ANY: entry.open})


def _decision(entry: Decision) -> Row:
    cells = (entry.question, entry.spec, entry.intel or "same")
    needs = {SPEC: entry.open, INTEL: entry.open_intel} if entry.intel else {ANY: entry.open}
    return Row(entry.id, _group(entry.id), cells, needs)


def _refusal(file: _File, entry: Function, row: Refusal) -> Row:
    cells = (row.when, file.codes.get(_code_of(row), row.code))
    return Row(f"{entry.name.removeprefix('ze')}-{row.code}", entry.name, cells, {ANY: row.open})


def _code_of(row: Refusal) -> str:
    """Return the result of an error, without the suffix that tells rows of one result apart."""
    return row.code.partition("-")[0]


def _problems(file: _File, tables: Mapping[str, tuple[Row, ...]]) -> Iterator[str]:
    rows = [row for table in tables.values() for row in table]
    yield from _odd_rows(rows)
    yield from _odd_reasons(rows, file.reasons)
    yield from _odd_sentences(file)
    for decision in file.decision:
        if decision.open_intel and not decision.intel:
            yield f"{decision.id}: open_intel, but both profiles behave the same"
    for function in file.function:
        for refusal in function.errors:
            if _code_of(refusal) not in file.codes:
                yield f"{function.name}: {refusal.code!r} is not in the data's codes"


def _odd_rows(rows: Sequence[Row]) -> Iterator[str]:
    for name, count in Counter(row.id for row in rows).items():
        if count > 1:
            yield f"{name}: stands {count} times in the data"
    for row in rows:
        if not all(cell.strip() for cell in row.cells):
            yield f"{row.id}: has an empty field"


def _odd_reasons(rows: Sequence[Row], reasons: Mapping[str, str]) -> Iterator[str]:
    used = [(row.id, reason) for row in rows for reason in row.needs.values() if reason]
    for name, reason in used:
        if reason not in reasons:
            yield f"{name}: open for the unknown reason {reason!r}"
    for reason in sorted(reasons.keys() - {reason for _, reason in used}):
        yield f"reason {reason!r}: nothing is open for it"


def _odd_sentences(file: _File) -> Iterator[str]:
    for sentence in file.sentence:
        group = _group(sentence.id)
        if group not in file.groups:
            yield f"{sentence.id}: group {group!r} is not in the data"
        for place in sentence.where:
            if place.partition(":")[0] not in file.documents:
                yield f"{sentence.id}: {place!r} names no document of the data"
