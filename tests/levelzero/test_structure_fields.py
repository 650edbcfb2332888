"""The fields of every structure are the specification's, under Python's spelling."""

import importlib
import json
import pkgutil
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from hostdriver import api
from hostdriver.core.structure_types import StructureType

FACTS = Path(__file__).parents[2] / "firmware" / "facts" / "level_zero.json"
MERGED = {"numsubgroupsizes"}
"""Counts of an array beside them: a tuple has a length."""


BESIDE = {"MemoryAllocationProperties": {"device"}}
"""What a call returns beside the structure in C, and in it in Python."""


def structures() -> dict[str, type]:
    """Return the structures of the API by name."""
    found: dict[str, type] = {}
    for module in pkgutil.iter_modules(api.__path__):
        if module.name.endswith("structures"):
            content = vars(importlib.import_module(f"hostdriver.api.{module.name}"))
            for name, value in content.items():
                tag = getattr(value, "stype", None)
                if is_dataclass(value) and isinstance(tag, StructureType):
                    found[name] = value  # type: ignore[assignment]
    return found


def facts_by_tag() -> dict[str, tuple[str, list[str]]]:
    """Return name and fields of every structure by its tag."""
    found: dict[str, tuple[str, list[str]]] = {}
    for own, struct in json.loads(FACTS.read_text(encoding="utf-8"))["structs"].items():
        tags: Any = struct.get("stype") or []
        names = [field["name"] for field in struct["fields"]]
        for tag in [tags] if isinstance(tags, str) else tags:
            found[tag.removeprefix("ZE_STRUCTURE_TYPE_")] = own, names
    return found


def plain(name: str) -> str:
    return name.replace("_", "").lower()


STRUCTURES = structures()
FACTS_BY_TAG = facts_by_tag()


@pytest.mark.parametrize("name", STRUCTURES)
def test_fields_are_those_of_the_specification(name: str) -> None:
    structure: Any = STRUCTURES[name]
    own = [plain(field.name) for field in fields(structure) if field.name != "p_next"]
    _, names = FACTS_BY_TAG[structure.stype.name]
    wanted = [plain(name) for name in names]

    expected = set(wanted) - {"stype", "pnext"} - MERGED | BESIDE.get(name, set())
    assert sorted(own) == sorted(expected)


@pytest.mark.parametrize("name", STRUCTURES)
def test_name_and_tag_belong_together(name: str) -> None:
    structure: Any = STRUCTURES[name]
    own, _ = FACTS_BY_TAG[structure.stype.name]

    assert plain(own.removeprefix("ze_").removesuffix("_t")) == plain(name)
