"""The environment in which processes that this package starts find it again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parents[2]


def child_environment(**changes: str) -> dict[str, str]:
    """Return this process's environment with changes, in which this very package is found.

    Whatever the folder is that the child runs in.
    """
    before = os.environ.get("PYTHONPATH", "")
    search = [str(_ROOT), *([before] if before else [])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(search), **changes}
