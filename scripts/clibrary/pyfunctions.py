"""The Python half's table of functions and structures, as JSON that is read once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple

from scripts.clibrary.facts import split_array
from scripts.clibrary.params import params_of

if TYPE_CHECKING:
    from scripts.clibrary.facts import Facts, Structure


def functions_module(facts: Facts) -> str:
    """Return the table as text."""
    numbers = {name: number for number, name in enumerate(facts.functions)}
    functions = [
        {
            "name": name,
            "number": numbers[name],
            "params": [astuple(param) for param in params_of(facts, facts.functions[name])],
            "recorded": name in facts.recorded,
        }
        for name in facts.functions
        if name in facts.implemented
    ]
    structures = {
        name: _structure(facts, structure)
        for name, structure in facts.structures.items()
        if "dditable" not in name and name != "ze_handle_t"
    }
    chains = sorted(facts.annotations["chains"])
    table = {
        "handles": facts.handles,
        "chains": chains,
        "functions": functions,
        "structures": structures,
    }
    return json.dumps(table, indent=1) + "\n"


def _structure(facts: Facts, structure: Structure) -> dict[str, Any]:
    fields: list[list[Any]] = []
    for field in structure.fields:
        if structure.is_chained and field.name in {"stype", "pNext"}:
            continue
        kind, suffix = split_array(field.ctype)
        is_bytes = bool(suffix) or kind in facts.structures
        fields.append([field.name, field.offset, field.size, is_bytes])
    return {
        "size": structure.size,
        "chained": structure.is_chained,
        "stypes": list(structure.stypes),
        "fields": fields,
    }
