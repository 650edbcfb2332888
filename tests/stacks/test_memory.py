"""Memory as allocators and monitors see it: the Unified Memory Framework, Intel's bindings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.stacks.conftest import Stack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PROGRAMS = Path(__file__).parent / "programs"


def test_an_allocator_gets_memory_of_every_kind_and_shares_that_of_the_device(
    stack: Stack, tmp_path: Path
) -> None:
    told = stack.run("python", PROGRAMS / "pool_provider.py", cwd=tmp_path)

    assert told.splitlines() == [
        "argument 2 of zeMemOpenIpcHandle is null",
        "host 4096",
        "device 65536",
        "shared 4096",
    ]


def test_a_monitor_is_told_how_much_memory_there_is_and_is_free(
    stack: Stack, tmp_path: Path
) -> None:
    told = stack.run("python", PROGRAMS / "memory_state.py", cwd=tmp_path)

    assert told.splitlines() == [f"{1 << 30} True"]
