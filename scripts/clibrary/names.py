"""What numbers mean: types of parameters and members, and the names of their values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from scripts.clibrary.facts import split_array

if TYPE_CHECKING:
    from scripts.clibrary.facts import Facts


def names_module(facts: Facts) -> str:
    """Return the table of all functions and types as text."""
    functions = [
        [name, function.returns, [[param.name, _plain(param.ctype)] for param in function.params]]
        for name, function in facts.functions.items()
    ]
    members = {
        name: {field.name: split_array(field.ctype)[0] for field in structure.fields}
        for name, structure in facts.structures.items()
        if "dditable" not in name
    }
    flags = {
        typedef: _values(facts.enums[single])
        for typedef in facts.typedefs
        if (single := typedef.removesuffix("s_t") + "_t") in facts.enums
    }
    enums = {name: _values(values) for name, values in facts.enums.items()}
    used = {kind for kinds in members.values() for kind in kinds.values()}
    used |= {kind.rstrip("*") for _, _, params in functions for _, kind in params}
    table = {
        "functions": functions,
        "members": members,
        "enums": {name: enums[name] for name in enums if name in used | {"ze_result_t"}},
        "flags": {name: flags[name] for name in flags if name in used},
    }
    return json.dumps(table, indent=1) + "\n"


def _values(members: dict[str, int]) -> dict[str, str]:
    """Return names by value; of two names for one the first."""
    found: dict[str, str] = {}
    for name, value in members.items():
        if not name.endswith("FORCE_UINT32"):
            found.setdefault(str(value), name)
    return found


def _plain(ctype: str) -> str:
    return ctype.removeprefix("const ")
