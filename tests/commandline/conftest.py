"""C programs for the commands that run programs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.harness.cprograms import compiled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(name="compile_program", scope="session")
def make_compiler(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return what compiles one of the programs."""
    return partial(compiled, folder=tmp_path_factory.mktemp("programs"))
