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


def facts_by_tag() -> dict[str, list[str]]:
    """Return the names of the fields by the structure's tag."""
    found: dict[str, list[str]] = {}
    for struct in json.loads(FACTS.read_text(encoding="utf-8"))["structs"].values():
        tags: Any = struct.get("stype") or []
        names = [field["name"] for field in struct["fields"]]
        for tag in [tags] if isinstance(tags, str) else tags:
            found[tag.removeprefix("ZE_STRUCTURE_TYPE_")] = names
    return found


def plain(name: str) -> str:
    return name.replace("_", "").lower()


STRUCTURES = structures()
FIELDS = facts_by_tag()


@pytest.mark.parametrize("name", STRUCTURES)
def test_fields_are_those_of_the_specification(name: str) -> None:
    structure: Any = STRUCTURES[name]
    own = [plain(field.name) for field in fields(structure) if field.name != "p_next"]
    wanted = [plain(field) for field in FIELDS[structure.stype.name]]

    assert sorted(own) == sorted(set(wanted) - {"stype", "pnext"} - MERGED)


@pytest.mark.parametrize("name", STRUCTURES)
def test_name_is_that_of_its_tag(name: str) -> None:
    tag = STRUCTURES[name].stype.name  # type: ignore[attr-defined]

    assert plain(tag.removesuffix("_1_2")) == plain(name)
