"""`emuzero demo --attach`: on an emulator that runs already, where faults can be injected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hostdriver import levelzero as ze
from hostdriver.inject.joining import FOLLOW_VARIABLE
from tests.harness.commandline import emuzero, serving

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder in which the demo makes its temporary files."""
    made = tmp_path / "temporary"
    made.mkdir()
    return made


def test_an_emulator_that_runs_is_taken_and_left_as_it_was(folder: Path, tmp_path: Path) -> None:
    with (
        serving(tmp_path, "--vram", "64MiB") as emulator,
        ze.connect(emulator.socket) as driver,
        driver.create_context() as context,
    ):
        context.mem_alloc_device(driver.devices[0], 1 << 20)
        ended = emuzero(
            *("demo", "--attach", "--json"),
            env={"TMPDIR": str(folder), "EMUZERO_SOCKET": str(emulator.socket)},
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        document = json.loads(ended.stdout)
        assert document["proved"] is True
        assert document["socket"] == str(emulator.socket)
        assert document["processes"]["device"] == emulator.process.pid
        after = document["statistics"]["after"]
        # What another client has is no concern of the demo.
        assert (after["client_count"], after["object_count"]) == (1, 1)
        assert emulator.process.poll() is None
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_an_example_is_shown_on_an_emulator_that_runs(folder: Path, tmp_path: Path) -> None:
    with serving(tmp_path, "--vram", "64MiB") as emulator:
        ended = emuzero(
            *("demo", "--attach", "--extension", "free-policy"),
            env={"TMPDIR": str(folder), "EMUZERO_SOCKET": str(emulator.socket)},
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        assert emulator.status()["devices"][0]["statistics"]["client_count"] == 0


def test_faults_reach_exporter_and_importer_and_the_demo_says_what_failed(
    folder: Path, tmp_path: Path
) -> None:
    rule = "api.zeMemOpenIpcHandle refuse=ZE_RESULT_ERROR_DEVICE_LOST process=*importer"
    with serving(tmp_path, "--vram", "64MiB", "--fault", rule) as emulator:
        ended = emuzero(
            *("demo", "--attach"),
            env={
                "TMPDIR": str(folder),
                "EMUZERO_SOCKET": str(emulator.socket),
                FOLLOW_VARIABLE: "1",
            },
        )
    assert ended.returncode == 1
    assert "Error: the importer ended early" in ended.stderr
    assert "by rule 'rule1'" in ended.stderr


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (("--attach", "--vram", "64MiB"), 2, "--vram is for a device of its own"),
        (("--attach",), 3, "no emulator listens at"),
    ],
)
def test_what_does_not_go_with_a_running_emulator_is_refused(
    folder: Path, options: tuple[str, ...], status: int, words: str
) -> None:
    nobody = str(folder / "nobody")
    ended = emuzero("demo", *options, env={"TMPDIR": str(folder), "EMUZERO_SOCKET": nobody})
    assert (ended.returncode, ended.stdout) == (status, "")
    assert words in ended.stderr
    assert list(folder.iterdir()) == []
