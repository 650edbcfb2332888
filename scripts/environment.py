"""The interpreter of the scripts in this folder.

Each calls `enter` before it imports anything that has to be installed, so that it may be started by
any Python: it goes on in the one of `.venv`, or says in one line how to make that.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("construct", "elftools", "msgspec", "numpy")
"""What the scripts import, directly or through the tree."""


def enter(root: Path = ROOT) -> None:
    """Return in an interpreter that has the packages; this process becomes it where need be.

    Raises:
        SystemExit: there is none; the text says what to do.
    """
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if not missing:
        return
    folder = root / ".venv"
    python = folder / "bin" / "python"
    if python.exists() and Path(sys.prefix).resolve() != folder.resolve():
        os.execv(python, [str(python), *sys.argv])  # noqa: S606 - a program and no shell is meant
    script = sys.argv[0]
    raise SystemExit(
        f"{script}: {sys.executable} has no {', '.join(missing)}; run ./scripts/demo once, which"
        f" installs them in .venv, then .venv/bin/python {script}"
    )
