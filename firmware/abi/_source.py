"""Sentences that stand behind a constant or a member of an enumeration, read from the source.

Python keeps no documentation of assignments, so the reference tables and the C header take it from
the module's text. Without the text (an installation of compiled files alone) there is none.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from itertools import pairwise


def doc_of_member(member: Enum) -> str:
    """Return what is written behind a member of an enumeration, or nothing."""
    kind = type(member)
    return _docs_of(kind.__module__).get(f"{kind.__qualname__}.{member.name}", "")


def doc_of_constant(module: str, name: str) -> str:
    """Return what is written behind a constant of a module, or nothing."""
    return _docs_of(module).get(name, "")


def doc_of_class(kind: type) -> str:
    """Return the documentation of a class as one line a paragraph."""
    return "\n\n".join(
        " ".join(part.split()) for part in (inspect.getdoc(kind) or "").split("\n\n")
    )


@cache
def _docs_of(module: str) -> Mapping[str, str]:
    try:
        text = inspect.getsource(sys.modules[module])
    except (OSError, TypeError):
        return {}
    tree = ast.parse(text)
    docs = dict(_documented(tree.body, ""))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            docs.update(_documented(node.body, f"{node.name}."))
    return docs


def _documented(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, str]]:
    """Yield name and sentence of every assignment that a string stands behind."""
    for statement, behind in pairwise(body):
        match statement, behind:
            case (
                ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield prefix + name, " ".join(text.split())
            case _:
                continue
