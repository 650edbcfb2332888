#!/usr/bin/env python3
"""Write the reference pages to docs/reference, or check that they are fresh.

.venv/bin/python scripts/gen_reference.py            write them
.venv/bin/python scripts/gen_reference.py --check    exit 1 and name the files that are stale
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # when it is run by its path

from scripts import environment

environment.enter()

from firmware.inject.page import reference  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs" / "reference"


def stale(folder: Path) -> list[str]:
    """Return, in order, what is missing, different or not generated any more in `folder`."""
    texts = reference()
    there = {
        path.name: path.read_text(encoding="utf-8") for path in folder.glob("*") if path.is_file()
    }
    return sorted(
        name for name in texts.keys() | there.keys() if texts.get(name) != there.get(name)
    )


def write(folder: Path) -> list[str]:
    """Make `folder` hold the generated files and no others; return the names that changed."""
    changed = stale(folder)
    texts = reference()
    folder.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if name in texts:
            (folder / name).write_text(texts[name], encoding="utf-8")
        else:
            (folder / name).unlink()
    return changed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only tell what is stale")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the files are")
    options = parser.parse_args(arguments)
    if not options.check:
        for name in write(options.folder):
            print(f"written: {options.folder / name}")
        return 0
    names = stale(options.folder)
    for name in names:
        print(f"stale: {options.folder / name}", file=sys.stderr)
    if names:
        print(
            "run .venv/bin/python scripts/gen_reference.py and look at what changed",
            file=sys.stderr,
        )
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
