#!/usr/bin/env python3
"""Writes the enumerations of Level Zero that the driver uses: gen_level_zero.py [--check].

The numbers come from `firmware/facts`, the choice from `scripts/level_zero`.
`--check` writes nothing and fails when a module is not what the facts say.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # when it is run by its path

from scripts.level_zero.catalogue import MODULES  # noqa: E402

if TYPE_CHECKING:
    from scripts.level_zero.catalogue import Enumeration, Module

FACTS: Final = ROOT / "firmware" / "facts"
SOURCES: Final = ("level_zero.json", "level_zero_sysman.json")
LEFT_OUT: Final = ("FORCE_UINT32", "VERSION_CURRENT")
"""Ends of names that mean no member of their own."""
LONGEST_LINE: Final = 100


def enumerations() -> dict[str, dict[str, int]]:
    """Return the members of every enumeration of the facts, by its name."""
    found: dict[str, dict[str, int]] = {}
    for name in SOURCES:
        found |= json.loads((FACTS / name).read_text(encoding="utf-8"))["enums"]
    return found


def members_of(facts: dict[str, dict[str, int]], enumeration: Enumeration) -> dict[str, int]:
    """Return the members by their Python name, in the order of the facts."""
    prefix = enumeration.prefix
    return {
        name.removeprefix(prefix): value
        for name, value in facts[enumeration.source].items()
        if not name.endswith(LEFT_OUT)
    }


def render(facts: dict[str, dict[str, int]], module: Module) -> str:
    """Return the text of one module."""
    enums = module.enumerations
    bases = sorted({"IntFlag" if enumeration.is_flags else "IntEnum" for enumeration in enums})
    lines = [
        *_docstring(f"{module.title}, written by `scripts/gen_level_zero.py`; do not edit."),
        "",
        "from __future__ import annotations",
        "",
        f"from enum import {', '.join(bases)}",
    ]
    names = [enumeration.name for enumeration in enums]
    if module.again is not None:
        origin, name = module.again
        lines += ["", f"from {origin} import {name}"]
        names.append(name)
    for enumeration in enums:
        base = "IntFlag" if enumeration.is_flags else "IntEnum"
        lines += ["", "", f"class {enumeration.name}({base}):", f'    """{enumeration.doc}"""', ""]
        lines += [
            f"    {name} = {value if value < 16 else f'0x{value:X}'}"
            for name, value in members_of(facts, enumeration).items()
        ]
    listing = [f'    "{name}",' for name in sorted(names)]
    exports = ["__all__ = [", *listing, "]"] if len(names) > 1 else [f'__all__ = ["{names[0]}"]']
    return "\n".join([*lines, "", "", *exports, ""])


def _docstring(text: str) -> list[str]:
    """Return a module's docstring, in two parts when it does not fit one line."""
    line = f'"""{text}"""'
    if len(line) <= LONGEST_LINE:
        return [line]
    title, _, rest = text.partition(", written")
    return [f'"""{title}.', "", f"Written{rest}", '"""']


def main() -> int:
    """Write the modules, or compare them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    facts = enumerations()
    stale: list[str] = []
    for module in MODULES:
        text = render(facts, module)
        file = ROOT / module.path
        if check and (not file.is_file() or file.read_text(encoding="utf-8") != text):
            stale.append(module.path)
        elif not check:
            file.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{path} is not what the facts say: run scripts/gen_level_zero.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
