#!/usr/bin/env python3
"""Writes the generated part of the C library and of its Python half: gen_c_library.py [--check].

The interface comes from `firmware/facts/level_zero.json`, what the facts do not tell from
`hostdriver/clib/annotations.toml`. `--check` writes nothing and fails when a file is stale.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # when it is run by its path

from scripts import environment

environment.enter()

from firmware.abi.c_header import c_header  # noqa: E402
from scripts.clibrary.declarations import header  # noqa: E402
from scripts.clibrary.facts import Facts  # noqa: E402
from scripts.clibrary.names import names_module  # noqa: E402
from scripts.clibrary.pyfunctions import functions_module  # noqa: E402
from scripts.clibrary.tables import functions_source, getters_source, numbers_header, own_header  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]


def outputs(facts: Facts) -> dict[Path, str]:
    """Return every generated file with its text."""
    clib = ROOT / "hostdriver" / "clib" / "generated"
    return {
        clib / "emuzero_abi.h": c_header(),
        clib / "level_zero.h": header(facts),
        clib / "numbers.h": numbers_header(facts),
        clib / "own.h": own_header(facts),
        clib / "functions.c": functions_source(facts),
        clib / "getters.c": getters_source(facts),
        ROOT / "hostdriver" / "channel" / "functions.json": functions_module(facts),
        ROOT / "hostdriver" / "channel" / "names.json": names_module(facts),
    }


def main() -> int:
    """Write or compare the files; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when stale")
    check = parser.parse_args().check
    stale = [
        path
        for path, text in outputs(Facts()).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if not check:
        for path, text in outputs(Facts()).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return 0
    for path in stale:
        sys.stderr.write(f"{path.relative_to(ROOT)} is stale: run scripts/gen_c_library.py\n")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
