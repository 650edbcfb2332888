"""Hearing what an emulator tells, also one that never began."""

from __future__ import annotations

import pytest

from hostdriver.cli.listener import Listener


def test_whoever_fails_before_an_emulator_began_waits_for_nothing() -> None:
    heard: list[object] = []
    listener = Listener(heard.append)

    with pytest.raises(ValueError, match="no emulator"), listener:
        raise ValueError("no emulator")

    assert heard == []
    assert listener.problem
