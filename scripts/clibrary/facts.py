"""The facts of the interface as the generator uses them: types, functions, tables."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, final

ROOT: Final = Path(__file__).resolve().parents[2]
CORE: Final = ROOT / "firmware" / "facts" / "level_zero.json"
SYSMAN: Final = ROOT / "firmware" / "facts" / "level_zero_sysman.json"
ANNOTATIONS: Final = ROOT / "hostdriver" / "clib" / "annotations.toml"
VENDOR: Final = ROOT / "hostdriver" / "clib" / "vendor.toml"

SCALARS: Final = {
    "char": 1,
    "uint8_t": 1,
    "uint16_t": 2,
    "uint32_t": 4,
    "unsigned int": 4,
    "int32_t": 4,
    "float": 4,
    "uint64_t": 8,
    "int64_t": 8,
    "double": 8,
    "size_t": 8,
    "uintptr_t": 8,
}
_ARRAY: Final = re.compile(r"(?P<kind>.+)\[(?P<length>\d+)\]$")


class CField(NamedTuple):
    """A member of a structure."""

    name: str
    ctype: str
    offset: int
    size: int


@final
@dataclass(frozen=True, slots=True)
class Structure:
    """A structure of the interface."""

    name: str
    size: int
    fields: tuple[CField, ...]
    stypes: tuple[int, ...]
    """Tags under which it stands in a chain; none for plain structures."""

    @property
    def family(self) -> str:
        """Prefix of the interface that gives it its tags: `ze`, or `zes` for management."""
        return family_of(self.name)

    @property
    def is_chained(self) -> bool:
        """Whether it begins with tag and chain."""
        return len(self.fields) > 1 and self.fields[1].name == "pNext"


class CParam(NamedTuple):
    """A parameter as the facts tell it."""

    name: str
    ctype: str
    tags: frozenset[str]


@final
@dataclass(frozen=True, slots=True)
class Function:
    """A function of the interface."""

    name: str
    returns: str
    """C type of its result."""
    since: tuple[int, int]
    table: str
    slot: int
    params: tuple[CParam, ...]
    not_null: frozenset[str]
    """Parameters that must not be null."""


@final
class Facts:
    """All that the generator needs, read once."""

    def __init__(self) -> None:
        self.raw: dict[str, Any] = _merged()
        self.annotations: dict[str, Any] = tomllib.loads(ANNOTATIONS.read_text(encoding="utf-8"))
        self.handles: tuple[str, ...] = tuple(self.raw["handles"])
        self.typedefs: dict[str, str] = self.raw["typedefs"]
        self.enums: dict[str, dict[str, int]] = self.raw["enums"]
        self.tables: dict[str, list[str]] = {
            name: [*slots, *self.raw["ddi_tables_added_1_18"].get(name, ())]
            for name, slots in self.raw["ddi_tables"].items()
        }

    @cached_property
    def structures(self) -> dict[str, Structure]:
        """Structures by name."""
        return {name: self._structure(name, item) for name, item in self.raw["structs"].items()}

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Functions by name, in the order that numbers them."""
        return {name: _function(name, item) for name, item in self.raw["functions"].items()}

    @property
    def implemented(self) -> dict[str, dict[str, str]]:
        """What the annotations say of each function that the driver serves."""
        functions: dict[str, dict[str, str]] = self.annotations["functions"]
        return functions

    @property
    def recorded(self) -> dict[str, list[str]]:
        """What has to hold, by function, for an append to be recorded instead of called."""
        recorded: dict[str, list[str]] = self.annotations["recorded"]
        return recorded

    @property
    def slots_since(self) -> dict[str, dict[str, str]]:
        """Versions, by table, before which slots from a certain one on mean something else."""
        moved: dict[str, dict[str, str]] = self.annotations["slots_since"]
        return moved

    def handle_type(self, ctype: str) -> str | None:
        """Return the handle type that a C type is another name of; None: it is no handle."""
        while ctype in self.typedefs:
            ctype = self.typedefs[ctype]
        return ctype if ctype in self.handles else None

    def size_of(self, ctype: str) -> int:
        """Return the size of a C type in bytes (KeyError: unknown)."""
        if ctype.endswith("*") or ctype in self.handles or ctype in self.raw["callbacks"]:
            return 8
        if ctype in self.enums:
            return 4
        if ctype in self.typedefs:
            return self.size_of(self.typedefs[ctype])
        if ctype in self.raw["structs"]:
            return int(self.raw["structs"][ctype]["size"])
        return SCALARS[ctype]

    def _structure(self, name: str, item: dict[str, Any]) -> Structure:
        given: str | list[str] = item.get("stype") or []
        names = [given] if isinstance(given, str) else given
        values = self.enums[f"{family_of(name)}_structure_type_t"]
        return Structure(
            name,
            item["size"],
            tuple(
                CField(field["name"], field["ctype"], field["offset"], field["size"])
                for field in item["fields"]
            ),
            tuple(values[tag] for tag in names),
        )


def family_of(name: str) -> str:
    """Return the prefix of the interface that a structure belongs to."""
    return "zes" if name.startswith("zes_") else "ze"


def _merged() -> dict[str, Any]:
    """Return the facts of core, management and vendor as one: numbers of the core come first."""
    facts: dict[str, Any] = json.loads(CORE.read_text(encoding="utf-8"))
    sysman: dict[str, Any] = json.loads(SYSMAN.read_text(encoding="utf-8"))
    for key in ("typedefs", "enums", "structs", "functions"):
        facts[key] |= sysman[key]
    facts["handles"] = [*facts["handles"], *sysman["handles"]]
    vendor: dict[str, Any] = tomllib.loads(VENDOR.read_text(encoding="utf-8"))
    facts["callbacks"] |= vendor["callbacks"]
    facts["structs"] |= vendor["structs"]
    facts["functions"] |= {
        name: _of_vendor(item) for name, item in sorted(vendor["functions"].items())
    }
    return facts


def _of_vendor(item: dict[str, Any]) -> dict[str, Any]:
    """Return a function without a table in the form of the facts."""
    conditions = [f"nullptr == {name}" for name in item["not_null"]]
    return {
        "ddi_table": "",
        "order_in_table": 0,
        "added_in_version": "1.0",
        "params": item["params"],
        "returns": {"ZE_RESULT_ERROR_INVALID_NULL_POINTER": conditions},
    }


def split_array(ctype: str) -> tuple[str, str]:
    """Return element type and the suffix of a declaration: `char[64]` is `char`, `[64]`."""
    found = _ARRAY.match(ctype)
    return (found["kind"], f"[{found['length']}]") if found else (ctype, "")


def _function(name: str, item: dict[str, Any]) -> Function:
    params = tuple(
        CParam(each["name"], each["ctype"], frozenset(each.get("tags", "").split(",")))
        for each in item["params"]
    )
    conditions = [
        condition
        for code in ("ZE_RESULT_ERROR_INVALID_NULL_HANDLE", "ZE_RESULT_ERROR_INVALID_NULL_POINTER")
        for condition in item["returns"].get(code, ())
    ]
    major, minor = item["added_in_version"].split(".")
    return Function(
        name,
        item.get("ret") or "ze_result_t",
        (int(major), int(minor)),
        item["ddi_table"],
        item["order_in_table"],
        params,
        frozenset(each.name for each in params if f"nullptr == {each.name}" in conditions),
    )
