#!/usr/bin/env python3
"""Writes the enumerations of Level Zero that the driver uses: gen_level_zero.py [--check].

The numbers come from `firmware/facts/level_zero.json`. `--check` writes nothing and fails when a
module is not what the facts say.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
FACTS: Final = ROOT / "firmware" / "facts" / "level_zero.json"
END_MARK: Final = "FORCE_UINT32"


class Enumeration(NamedTuple):
    """One enumeration of the facts and how it is written down."""

    source: str
    """Name in the facts."""
    name: str
    """Name in Python."""
    doc: str
    exact: bool = False
    """Keep the members' full names."""

    @property
    def is_flags(self) -> bool:
        """Whether the members are bits of a word."""
        return self.source.endswith("_flag_t")

    @property
    def prefix(self) -> str:
        """What is cut off the members' names."""
        return "" if self.exact else self.source.removesuffix("t").upper()


RESULT: Final = "Outcome of a call, by the names of the specification."
MODULES: Final = {
    "hostdriver/core/ze_result.py": (
        "Result codes of Level Zero",
        (Enumeration("ze_result_t", "ZeResult", RESULT, exact=True),),
    ),
    "hostdriver/core/enums.py": (
        "Enumerations of Level Zero",
        (
            Enumeration("ze_context_flag_t", "ContextFlags", "Flags of `ContextDesc`."),
            Enumeration(
                "ze_device_mem_alloc_flag_t",
                "DeviceMemAllocFlags",
                "Flags of `DeviceMemAllocDesc`: wishes, which change nothing here.",
            ),
            Enumeration(
                "ze_device_property_flag_t", "DevicePropertyFlags", "Flags of `DeviceProperties`."
            ),
            Enumeration("ze_device_type_t", "DeviceType", "What a device is."),
            Enumeration(
                "ze_driver_memory_free_policy_ext_flag_t",
                "DriverMemoryFreePolicyExtFlags",
                "When freed memory is given back.",
            ),
            Enumeration(
                "ze_host_mem_alloc_flag_t", "HostMemAllocFlags", "Flags of `HostMemAllocDesc`."
            ),
            Enumeration(
                "ze_ipc_mem_handle_type_flag_t", "IpcMemHandleTypeFlags", "Kinds of IPC handle."
            ),
            Enumeration("ze_ipc_memory_flag_t", "IpcMemoryFlags", "How opened memory is cached."),
            Enumeration(
                "ze_memory_access_attribute_t",
                "MemoryAccessAttribute",
                "What a device may do with a virtual range.",
            ),
            Enumeration(
                "ze_memory_atomic_attr_exp_flag_t",
                "MemoryAtomicAttrExpFlags",
                "Which atomic operations a shared allocation is to support.",
            ),
            Enumeration(
                "ze_memory_compression_hints_ext_flag_t",
                "MemoryCompressionHintsExtFlags",
                "Whether memory may be compressed.",
            ),
            Enumeration("ze_memory_type_t", "MemoryType", "What kind of memory a pointer names."),
            Enumeration(
                "ze_physical_mem_flag_t",
                "PhysicalMemFlags",
                "Where physical memory is made.",
            ),
            Enumeration(
                "ze_relaxed_allocation_limits_exp_flag_t",
                "RelaxedAllocationLimitsExpFlags",
                "Limits that an allocation may pass.",
            ),
            Enumeration(
                "ze_relaxed_allocation_limits_ext_flag_t",
                "RelaxedAllocationLimitsExtFlags",
                "Limits that an allocation may pass.",
            ),
            Enumeration("ze_structure_type_t", "StructureType", "Tag of a structure in a chain."),
        ),
    ),
}


def members_of(facts: dict[str, dict[str, int]], enumeration: Enumeration) -> dict[str, int]:
    """Return the members by their Python name, without the end mark."""
    prefix = enumeration.prefix
    return {
        name.removeprefix(prefix): value
        for name, value in facts[enumeration.source].items()
        if not name.endswith(END_MARK)
    }


def render(facts: dict[str, dict[str, int]], title: str, enums: tuple[Enumeration, ...]) -> str:
    """Return the text of one module."""
    bases = sorted({"IntFlag" if enumeration.is_flags else "IntEnum" for enumeration in enums})
    lines = [
        f'"""{title}, written by `scripts/gen_level_zero.py`; do not edit."""',
        "",
        "from __future__ import annotations",
        "",
        f"from enum import {', '.join(bases)}",
    ]
    for enumeration in enums:
        base = "IntFlag" if enumeration.is_flags else "IntEnum"
        lines += ["", "", f"class {enumeration.name}({base}):", f'    """{enumeration.doc}"""', ""]
        lines += [
            f"    {name} = {value if value < 16 else f'0x{value:X}'}"
            for name, value in members_of(facts, enumeration).items()
        ]
    names = sorted(enumeration.name for enumeration in enums)
    listing = [f'    "{name}",' for name in names]
    exports = ["__all__ = [", *listing, "]"] if len(names) > 1 else [f'__all__ = ["{names[0]}"]']
    return "\n".join([*lines, "", "", *exports, ""])


def main() -> int:
    """Write the modules, or compare them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    facts = json.loads(FACTS.read_text(encoding="utf-8"))["enums"]
    stale: list[str] = []
    for path, (title, enums) in MODULES.items():
        text = render(facts, title, enums)
        file = ROOT / path
        if check and (not file.is_file() or file.read_text(encoding="utf-8") != text):
            stale.append(path)
        elif not check:
            file.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{path} is not what {FACTS.name} says: run scripts/gen_level_zero.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
