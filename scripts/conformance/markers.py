"""The markers that tests carry, read from their source without importing it.

    @pytest.mark.sentence("RANGE-07", "RANGE-08")
    @pytest.mark.decision("C8", profile="both")
    @pytest.mark.error("VirtualMemFree", "NP", "US")
    @pytest.mark.case("V04")

A marker stands at a test, at a class of tests, inside a case of `parametrize`, or in `pytestmark`.
Anywhere else nobody could tell which test it belongs to, and it is reported.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_ARGUMENTS: Final = {
    "sentence": "one id or more",
    "decision": "one id or more",
    "error": "a function and one code or more",
    "case": "one id or more",
}
MARKERS: Final = tuple(_ARGUMENTS)
PROFILES: Final = {"spec": ("spec",), "intel": ("intel",), "both": ("spec", "intel")}
_IDLE: Final = ("skip", "xfail")


class Mark(NamedTuple):
    """One id that one test claims to prove."""

    marker: str
    id: str
    profiles: tuple[str, ...]
    path: str
    """File, from the folder of tests on."""
    test: str
    """Name of the test or class; empty: the whole file."""


class Found(NamedTuple):
    """What a folder of tests says."""

    marks: tuple[Mark, ...]
    problems: tuple[str, ...]


def collect(folder: Path) -> Found:
    """Return every mark of the tests below a folder, by file and place."""
    marks: list[Mark] = []
    problems: list[str] = []
    for path in sorted(folder.rglob("*.py")):
        reader = _Reader(path.relative_to(folder).as_posix())
        reader.read(path.read_text(encoding="utf-8"))
        marks += reader.marks
        problems += reader.problems
    return Found(tuple(marks), tuple(problems))


@final
class _Reader:
    """Reads one file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: set[ast.expr] = set()
        self.marks: list[Mark] = []
        self.problems: list[str] = []

    def read(self, source: str) -> None:
        """Note the marks of a source text, and what is wrong with them."""
        tree = ast.parse(source, self._path)
        if self._path.rpartition("/")[2].startswith("test_"):
            self._body(tree.body, "")
        for node in ast.walk(tree):
            if isinstance(node, ast.expr) and _marker_of(node) and node not in self._seen:
                self._problem(node, "the marker is at no test, or names nothing")
        self.problems += [
            f"{self._path}: {mark.test or 'pytestmark'}: {mark.marker} {mark.id!r} stands twice"
            for mark, count in Counter(self.marks).items()
            if count > 1
        ]

    def _body(self, body: Sequence[ast.stmt], owner: str) -> None:
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    if node.name.startswith("test_"):
                        self._decorated(node.decorator_list, owner + node.name)
                case ast.ClassDef():
                    if node.name.startswith("Test"):
                        self._decorated(node.decorator_list, owner + node.name)
                        self._body(node.body, f"{owner}{node.name}.")
                case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                    self._marks_in(value, owner.rstrip("."))
                case _:
                    continue

    def _decorated(self, decorators: Sequence[ast.expr], test: str) -> None:
        before = len(self.marks)
        for decorator in decorators:
            self._marks_in(decorator, test)
        for decorator in decorators:
            name = _mark_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if name in _IDLE and len(self.marks) > before:
                self._problem(decorator, f"{test} proves nothing: it is marked {name}")

    def _marks_in(self, expression: ast.expr, test: str) -> None:
        for node in ast.walk(expression):
            if isinstance(node, ast.Call) and (marker := _marker_of(node.func)):
                self._seen.add(node.func)
                self._mark(node, marker, test)

    def _mark(self, node: ast.Call, marker: str, test: str) -> None:
        names = list(_texts(node.args))
        if marker == "error":
            names = [f"{names[0]}-{code}" for code in names[1:]]
        if not names or len(list(_texts(node.args))) < len(node.args):
            self._problem(node, f"{marker} takes {_ARGUMENTS[marker]}, as literal texts")
        profiles = self._profiles(node, marker)
        self.marks += [Mark(marker, name, profiles, self._path, test) for name in names]

    def _profiles(self, node: ast.Call, marker: str) -> tuple[str, ...]:
        """Return the profiles under which the test runs: `spec` unless it says otherwise."""
        profile = "spec"
        for keyword in node.keywords:
            texts = list(_texts([keyword.value]))
            if marker != "decision" or keyword.arg != "profile":
                self._problem(node, f"{marker} takes no {keyword.arg}")
            elif not texts or texts[0] not in PROFILES:
                self._problem(node, f"profile is {' or '.join(PROFILES)}, as a literal text")
            else:
                profile = texts[0]
        return PROFILES[profile]

    def _problem(self, node: ast.expr, text: str) -> None:
        self.problems.append(f"{self._path}:{node.lineno}: {text}")


def _mark_name(node: ast.expr) -> str:
    """Return `x` of `pytest.mark.x` and `mark.x`, else an empty text."""
    match node:
        case ast.Attribute(attr=name, value=ast.Attribute(attr="mark") | ast.Name(id="mark")):
            return name
        case _:
            return ""


def _marker_of(node: ast.expr) -> str:
    """Return which of our markers an expression names, else an empty text."""
    name = _mark_name(node)
    return name if name in MARKERS else ""


def _texts(nodes: Sequence[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
