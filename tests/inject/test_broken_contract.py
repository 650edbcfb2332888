"""A device that breaks the contract under a C program: its session ends, and one line says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.core.results import ZeResult
from hostdriver.inject.remote import Faults
from tests.harness.emulator_process import emulator_process
from tests.harness.scripted import scripted

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_reply_that_nobody_asked_for_ends_the_session_and_is_told_in_one_line(
    script: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with emulator_process(tmp_path) as emulator:
        with scripted(script, emulator.path) as program, Faults(emulator.path) as faults:
            faults.add("link.reply repeat nth=1")
            program.do("device 65536")
            ended = program.do("device 65536")
            assert ended.result is ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
        with scripted(script, emulator.path) as other:
            other.get("device 65536")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"the session of process {program.process.pid} ended: a reply to ")
    assert line.endswith(", which nobody made")
