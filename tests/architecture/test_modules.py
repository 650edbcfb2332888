"""Modules stay small and finished, and say where each name comes from."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("device", "firmware", "hostdriver")
LONGEST_MODULE = 300
LONGEST_TEST = 400
MARKS = ("TO" + "DO", "FIX" + "ME")
TEXTS = {"", ".c", ".h", ".md", ".py", ".sh", ".toml"}


def modules_in(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def texts() -> Iterator[Path]:
    """Yield every file that people write."""
    yield from ROOT.glob("*.md")
    for folder in (*ROOMS, ".ci", "docs", "scripts", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in TEXTS and "__pycache__" not in path.parts:
                yield path


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def length(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_module_is_too_long() -> None:
    too_long = {name_of(p): length(p) for p in modules_in(*ROOMS) if length(p) > LONGEST_MODULE}

    assert too_long == {}


def test_no_file_of_tests_is_too_long() -> None:
    too_long = {name_of(p): length(p) for p in modules_in("tests") if length(p) > LONGEST_TEST}

    assert too_long == {}


@pytest.mark.parametrize("path", modules_in(*ROOMS, "scripts", "tests"), ids=name_of)
def test_no_star_imports(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))

    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]

    assert [node.lineno for node in imports if any(name.name == "*" for name in node.names)] == []


def test_nothing_is_left_for_later() -> None:
    marked = [
        f"{name_of(path)}:{number}"
        for path in texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if any(mark in line for mark in MARKS)
    ]

    assert marked == []
