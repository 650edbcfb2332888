"""Every package says what it is and what it offers, and carries what a package must have."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("device", "firmware", "hostdriver")


def folders_of(room: str) -> list[Path]:
    """Return the room and its folders, two levels in all."""
    inner = (path for path in (ROOT / room).iterdir() if path.is_dir())
    return [ROOT / room, *sorted(path for path in inner if path.name != "__pycache__")]


FOLDERS = [folder for room in ROOMS for folder in folders_of(room)]
PACKAGES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("__init__.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def exported(tree: ast.Module) -> list[str]:
    """Return what the literal `__all__` of a module lists."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return list(ast.literal_eval(value))
            case ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value):
                return list(ast.literal_eval(value))
            case _:
                continue
    pytest.fail("no __all__")


def imported(tree: ast.Module) -> set[str]:
    """Return the public names that a module's imports bind."""
    names = set[str]()
    for node in tree.body:
        match node:
            case ast.ImportFrom(module="__future__"):
                continue
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
            case _:
                continue
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_every_folder_with_python_is_a_package(folder: Path) -> None:
    if any(folder.glob("*.py")):
        assert (folder / "__init__.py").is_file()


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_every_folder_has_a_readme(folder: Path) -> None:
    assert (folder / "README.md").is_file()


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_is_marked_as_typed(room: str) -> None:
    assert (ROOT / room / "py.typed").is_file()


@pytest.mark.parametrize("path", PACKAGES, ids=name_of)
def test_package_has_a_docstring(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))

    assert ast.get_docstring(tree)


@pytest.mark.parametrize("path", PACKAGES, ids=name_of)
def test_package_holds_nothing_but_imports_and_all(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))

    rest = [
        ast.unparse(node)
        for node in tree.body[1:]
        if not isinstance(node, ast.Import | ast.ImportFrom)
    ]

    assert [line for line in rest if not line.startswith("__all__")] == []


@pytest.mark.parametrize("path", PACKAGES, ids=name_of)
def test_all_lists_each_import_once(path: Path) -> None:
    # The order inside is that of the linter (RUF022): constants, classes, functions.
    tree = ast.parse(path.read_text(encoding="utf-8"))

    names = exported(tree)

    assert len(names) == len(set(names))
    assert imported(tree) == set(names)


@pytest.mark.parametrize("path", PACKAGES, ids=name_of)
def test_exported_names_exist(path: Path) -> None:
    module = importlib.import_module(name_of(path.parent).replace("/", "."))

    names: list[str] = module.__all__

    assert [name for name in names if not hasattr(module, name)] == []


def test_no_folder_of_tests_is_named_like_a_room() -> None:
    folders = [path for path in (ROOT / "tests").rglob("*") if path.is_dir()]

    assert [name_of(path) for path in folders if path.name in ROOMS] == []
